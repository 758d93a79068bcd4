// Files for tests.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "kubernetes/client/environment.hpp"

namespace berth::service {

class FakeEnvironment final : public client::Environment {
 public:
  Expected<std::string> ReadFile(const std::string& path) const override {
    const std::scoped_lock lock(mutex_);
    const auto found = files_.find(path);
    if (found != files_.end()) return found->second;
    return Fail(ErrorCode::kNotFound, "open " + path + ": no such file or directory");
  }
  std::optional<std::string> Variable(const std::string&) const override { return std::nullopt; }
  Expected<ChildResult> Run(const ChildOptions&, const ChildLimits&, std::stop_token) const override {
    return Fail(ErrorCode::kInternal, "no programs here");
  }
  bool StdinIsTerminal() const override { return false; }

  void Put(const std::string& path, std::string text) {
    const std::scoped_lock lock(mutex_);
    files_.insert_or_assign(path, std::move(text));
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> files_;
};

}  // namespace berth::service
