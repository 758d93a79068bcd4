// Access to files, environment variables and programs, as an interface that tests replace.
#pragma once

#include <optional>
#include <string>

#include "base/child_process.hpp"
#include "base/result.hpp"

namespace berth::client {

// Thread-safe.
class Environment {
 public:
  virtual ~Environment() = default;
  // The content of the file. Errors have Go's texts: "open <path>: no such file or directory".
  virtual Expected<std::string> ReadFile(const std::string& path) const = 0;
  virtual std::optional<std::string> Variable(const std::string& name) const = 0;
  // Runs a program to its end; blocks. See ChildProcess.
  virtual Expected<ChildResult> Run(const ChildOptions& program, const ChildLimits& limits,
                                    std::stop_token stop) const = 0;
  virtual bool StdinIsTerminal() const = 0;
};

class SystemEnvironment final : public Environment {
 public:
  Expected<std::string> ReadFile(const std::string& path) const override;
  std::optional<std::string> Variable(const std::string& name) const override;
  Expected<ChildResult> Run(const ChildOptions& program, const ChildLimits& limits,
                            std::stop_token stop) const override;
  bool StdinIsTerminal() const override;
};

}  // namespace berth::client
