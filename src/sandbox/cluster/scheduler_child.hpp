// A scheduler for the sandbox, as a child process.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/child_process.hpp"
#include "base/result.hpp"

namespace berth::sandbox {

// Ends with this object, and with the thread that started it. One thread.
class SchedulerChild {
 public:
  // Runs `berth scheduler` of this program with this kubeconfig (its text), without leader election and
  // without serving. Its files are in a temporary directory, which stays if the scheduler ends by itself.
  static Expected<SchedulerChild> Start(const std::string& kubeconfig);
  SchedulerChild(SchedulerChild&&) noexcept = default;
  SchedulerChild& operator=(SchedulerChild&&) = delete;
  ~SchedulerChild();

  std::string log() const { return folder_ / "scheduler.log"; }
  bool Ended();
  // Requires Ended(): how it ended, and its log.
  std::string EndText();

 private:
  SchedulerChild(std::filesystem::path folder, ChildProcess child);

  std::filesystem::path folder_;  // empty after a move
  ChildProcess child_;
};

}  // namespace berth::sandbox
