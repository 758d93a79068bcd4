// Child processes that end with this process, with their CPU and memory usage.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace berth::demo {

// Killed by the destructor, and by the kernel if this process dies first (PR_SET_PDEATHSIG: the thread that
// starts a child must live as long as the child; start children from the main thread).
class ChildProcess {
 public:
  // `arguments` begins with the program, which is searched in PATH. Standard output and error go to
  // `log_file`.
  static Expected<ChildProcess> Start(const std::vector<std::string>& arguments, const std::string& log_file);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  // The exit reason ("exit code 1", "signal 9"); nullopt while it runs.
  std::optional<std::string> Ended();
  // Sends SIGTERM, and SIGKILL after the grace period.
  void Stop(std::chrono::milliseconds grace = std::chrono::seconds(3));
  // User and system time so far, also after the end.
  double CpuSeconds() const;
  // Peak resident memory in bytes; 0 after the end.
  std::size_t PeakMemoryBytes() const;

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  bool Reap(int options);

  pid_t pid_ = -1;  // -1: none
  std::optional<std::string> ended_;
  double final_cpu_seconds_ = 0;
};

// Splits a command line at spaces; quotes group words. {name} is replaced by its value.
std::vector<std::string> CommandLine(
    std::string_view text, const std::vector<std::pair<std::string, std::string>>& replacements = {});

// The path of the running program.
std::string OwnExecutable();

// The last lines of a log file, for error messages.
std::string LastLines(const std::string& file, std::size_t lines);

}  // namespace berth::demo
