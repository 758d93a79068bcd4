// Files, environment variables and programs as an argument, so that tests need none of them.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "kubernetes/client/subprocess.hpp"

namespace berth::client {

// Safe from any thread.
class Environment {
 public:
  virtual ~Environment() = default;
  // The whole file. Errors read as Go's: "open <path>: no such file or directory".
  virtual Expected<std::string> ReadFile(const std::string& path) const = 0;
  virtual std::optional<std::string> Variable(const std::string& name) const = 0;
  // See RunCommand; blocks.
  virtual Expected<CommandOutput> Run(const Command& command, std::stop_token stop) const = 0;
  virtual bool StdinIsTerminal() const = 0;
};

class SystemEnvironment final : public Environment {
 public:
  Expected<std::string> ReadFile(const std::string& path) const override;
  std::optional<std::string> Variable(const std::string& name) const override;
  Expected<CommandOutput> Run(const Command& command, std::stop_token stop) const override;
  bool StdinIsTerminal() const override;
};

}  // namespace berth::client
