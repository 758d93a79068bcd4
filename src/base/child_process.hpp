// Child processes: programs, and functions that run in a copy of this process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace berth {

struct ExitStatus {
  int code = 0;    // the exit code; 0 if a signal ended the process
  int signal = 0;  // 0: no signal ended the process

  // The exit code; 128 + signal after a signal, as in shells.
  int ShellCode() const { return signal != 0 ? 128 + signal : code; }
  // "exit code 1" or "signal 9".
  std::string Text() const;
};

// Standard output is captured; standard error is inherited.
struct CaptureOutput {};
// Standard output and standard error go to a file, which is created with mode 0600 or truncated.
struct OutputToFile {
  std::string path;
};

struct ChildOptions {
  std::vector<std::string> arguments{};  // begins with the program, searched in PATH unless it has a slash
  // Added to the environment of this process; later entries win.
  std::vector<std::pair<std::string, std::string>> environment{};
  std::variant<CaptureOutput, OutputToFile> output{};
  // Inherits standard input and the process group, so that the program can use the terminal. Otherwise
  // standard input is /dev/null, and the child leads a process group of its own.
  bool interactive = false;
};

struct ChildLimits {
  Duration timeout = std::chrono::seconds(60);
  std::size_t output_bytes = 1U << 20;
};

struct ChildResult {
  // kOutputLimit: more output than permitted. kStopped: the caller requested it.
  enum class End { kExited, kTimeout, kOutputLimit, kStopped };
  End end = End::kExited;
  ExitStatus status{};   // if `end` is kExited
  std::string output{};  // captured until then; at most ChildLimits::output_bytes
};

// Killed, with its process group, by the destructor; by the kernel when the thread that started it ends (so
// also when this process dies). Descriptors are inherited only without O_CLOEXEC. Not thread-safe.
class ChildProcess {
 public:
  // Returns after the program was started. Errors: kNotFound if there is no such program, kInvalid if the
  // output file cannot be written, kInternal; "<program>: <reason>".
  static Expected<ChildProcess> Start(const ChildOptions& options);
  // Runs `function` in a copy of this process with only the calling thread; the child exits with code 0 when
  // it returns and with code 1 when it throws. Captures what the function writes to the descriptor that it
  // gets. Standard input is /dev/null, standard output is standard error, which is inherited.
  static Expected<ChildProcess> Fork(const std::function<void(int output)>& function);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess() { Kill(); }

  // Blocks until the child has exited and all processes have closed the captured output, or until a limit is
  // reached or a stop is requested; then it kills the process group.
  ChildResult Wait(const ChildLimits& limits, const std::stop_token& stop);
  // nullopt while it runs.
  std::optional<ExitStatus> Ended();
  // Sends SIGTERM to the process group, and SIGKILL after the grace period; blocks until the child has
  // exited.
  void Stop(Duration grace = std::chrono::seconds(3));

  pid_t pid() const { return pid_; }  // -1 after the end
  // User and system time so far, also after the end.
  double CpuSeconds() const;
  // Peak resident memory in bytes; 0 after the end.
  std::size_t PeakMemoryBytes() const;

 private:
  ChildProcess(pid_t pid, int output, bool leads_group);
  bool Reap(int options);
  bool ReadOutput(std::string& into, Duration wait);
  void Signal(int signal) const;
  void Kill();
  void CloseOutput();

  pid_t pid_ = -1;   // -1: none
  int output_ = -1;  // -1: not captured, or closed by the other side
  bool leads_group_ = false;
  std::optional<ExitStatus> ended_;
  double final_cpu_seconds_ = 0;
};

// The path of this program, to start it again with other arguments.
std::string OwnExecutable();

}  // namespace berth
