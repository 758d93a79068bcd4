#include "base/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>
#include <thread>

extern char** environ;  // NOLINT

namespace berth {
namespace {

using SteadyClock = std::chrono::steady_clock;

// How often a wait checks for a stop request, and for the end of a child without captured output.
constexpr std::chrono::milliseconds kStopInterval{50};
constexpr std::chrono::milliseconds kEndInterval{1};

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

struct Pipe {
  Descriptor read{}, write{};
};

std::string Reason(int error) { return std::generic_category().message(error); }

Expected<Pipe> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Fail(ErrorCode::kInternal, "cannot create a pipe: " + Reason(errno));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

std::vector<std::string> Environment(const std::vector<std::pair<std::string, std::string>>& added) {
  std::map<std::string, std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    if (equals != text.npos) merged[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : added) merged[name] = value;
  std::vector<std::string> out;
  for (const auto& [name, value] : merged) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// Everything that the child needs after the fork, prepared before it: other threads may hold the allocator's
// lock at the fork, so the child must not allocate.
struct Prepared {
  pid_t parent = ::getpid();
  bool interactive = false;
  int input = -1;   // -1: inherited
  int output = -1;  // becomes standard output
  int errors = -1;  // becomes standard error; -1: inherited
};

void SetUp(const Prepared& prepared) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != prepared.parent) ::_exit(127);  // the parent died before prctl took effect
  if (!prepared.interactive) ::setpgid(0, 0);
  if (prepared.input >= 0) ::dup2(prepared.input, STDIN_FILENO);
  ::dup2(prepared.output, STDOUT_FILENO);
  if (prepared.errors >= 0) ::dup2(prepared.errors, STDERR_FILENO);
}

// A program expects signals as its user's shell would hand them down, not as this process handles its own.
void RestoreSignals() {
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

std::string ExitStatus::Text() const {
  return signal != 0 ? fmt::format("signal {}", signal) : fmt::format("exit code {}", code);
}

// Not posix_spawn and not Boost.Process: both lack PR_SET_PDEATHSIG, and Boost.Process 1.81 forks a second
// process for each wait with a deadline.
Expected<ChildProcess> ChildProcess::Start(const ChildOptions& options) {
  if (options.arguments.empty()) return Invalid("no program to start");
  const std::string& program = options.arguments.front();
  Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pipe output;
  Prepared prepared{.interactive = options.interactive, .input = options.interactive ? -1 : null.get()};
  if (const auto* file = std::get_if<OutputToFile>(&options.output)) {
    output.write = Descriptor(::open(file->path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (output.write.get() < 0) return Invalid(fmt::format("cannot write {}: {}", file->path, Reason(errno)));
    prepared.errors = output.write.get();
  } else {
    BERTH_TRY(output, MakePipe());
  }
  prepared.output = output.write.get();
  // Closed by a successful exec; otherwise the child writes the error number.
  BERTH_TRY(Pipe failure, MakePipe());
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = Environment(options.environment);
  const auto argv = Pointers(arguments);
  const auto envp = Pointers(environment);
  const pid_t pid = ::fork();
  if (pid == 0) {
    SetUp(prepared);
    RestoreSignals();
    ::execvpe(argv[0], argv.data(), envp.data());
    const int error = errno;
    (void)!::write(failure.write.get(), &error, sizeof error);
    ::_exit(127);
  }
  int error = errno;
  if (pid < 0) return Fail(ErrorCode::kInternal, fmt::format("{}: {}", program, Reason(error)));
  ChildProcess child(pid, output.read.Release(), !options.interactive);
  failure.write = Descriptor();
  ssize_t got = 0;
  while ((got = ::read(failure.read.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (got != sizeof error) return child;
  return Fail(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInternal,
              fmt::format("{}: {}", program, Reason(error)));
}

Expected<ChildProcess> ChildProcess::Fork(const std::function<void(int)>& function) {
  BERTH_TRY(Pipe output, MakePipe());
  const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Prepared prepared{.input = null.get(), .output = STDERR_FILENO};
  const pid_t pid = ::fork();
  if (pid == 0) {
    SetUp(prepared);
    output.read = Descriptor();
    try {
      function(output.write.get());
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  if (pid < 0) return Fail(ErrorCode::kInternal, "fork: " + Reason(errno));
  return ChildProcess(pid, output.read.Release(), true);
}

ChildProcess::ChildProcess(pid_t pid, int output, bool leads_group)
    : pid_(pid), output_(output), leads_group_(leads_group) {
  // Also in the child: whichever runs first, the group exists before a signal is sent to it.
  if (leads_group_) ::setpgid(pid_, pid_);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::exchange(other.output_, -1)),
      leads_group_(other.leads_group_),
      ended_(other.ended_),
      final_cpu_seconds_(other.final_cpu_seconds_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(output_, other.output_);
  std::swap(leads_group_, other.leads_group_);
  std::swap(ended_, other.ended_);
  std::swap(final_cpu_seconds_, other.final_cpu_seconds_);
  return *this;
}

ChildResult ChildProcess::Wait(const ChildLimits& limits, const std::stop_token& stop) {
  using End = ChildResult::End;
  const auto deadline = SteadyClock::now() + limits.timeout;
  ChildResult result;
  while (true) {
    const Duration left = deadline - SteadyClock::now();
    if (!ReadOutput(result.output, std::clamp<Duration>(left, Duration(0), kStopInterval)) && Reap(WNOHANG)) {
      result.status = *ended_;
      return result;
    }
    if (result.output.size() > limits.output_bytes) {
      result.output.resize(limits.output_bytes);
      result.end = End::kOutputLimit;
    } else if (stop.stop_requested()) {
      result.end = End::kStopped;
    } else if (left <= Duration(0)) {
      result.end = End::kTimeout;
    } else {
      continue;
    }
    Kill();
    return result;
  }
}

// Returns false once there is no more output; then it waits a moment for the end of the process.
bool ChildProcess::ReadOutput(std::string& into, Duration wait) {
  if (output_ < 0) {
    if (!Reap(WNOHANG)) std::this_thread::sleep_for(std::min<Duration>(wait, kEndInterval));
    return false;
  }
  pollfd waiting{.fd = output_, .events = POLLIN, .revents = 0};
  const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
  if (::poll(&waiting, 1, static_cast<int>(timeout)) <= 0) return true;
  char buffer[4096];
  const auto got = ::read(output_, buffer, sizeof buffer);
  if (got > 0) into.append(buffer, static_cast<std::size_t>(got));
  if (got > 0 || (got < 0 && errno == EINTR)) return true;
  CloseOutput();
  return false;
}

bool ChildProcess::Reap(int options) {
  if (pid_ < 0) return true;
  int status = 0;
  rusage usage{};
  const pid_t done = ::wait4(pid_, &status, options, &usage);
  if (done == 0 || (done < 0 && errno == EINTR)) return false;
  final_cpu_seconds_ = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  ended_ =
      WIFSIGNALED(status) ? ExitStatus{.signal = WTERMSIG(status)} : ExitStatus{.code = WEXITSTATUS(status)};
  pid_ = -1;
  return true;
}

std::optional<ExitStatus> ChildProcess::Ended() {
  Reap(WNOHANG);
  return ended_;
}

void ChildProcess::Signal(int signal) const { ::kill(leads_group_ ? -pid_ : pid_, signal); }

void ChildProcess::Stop(Duration grace) {
  if (pid_ < 0) return;
  Signal(SIGTERM);
  const auto deadline = SteadyClock::now() + grace;
  while (!Reap(WNOHANG) && SteadyClock::now() < deadline) std::this_thread::sleep_for(10 * kEndInterval);
  Kill();
}

void ChildProcess::Kill() {
  CloseOutput();
  if (pid_ < 0) return;
  Signal(SIGKILL);
  while (!Reap(0)) {
  }
}

void ChildProcess::CloseOutput() {
  if (output_ >= 0) ::close(std::exchange(output_, -1));
}

double ChildProcess::CpuSeconds() const {
  if (pid_ < 0) return final_cpu_seconds_;
  std::ifstream file(fmt::format("/proc/{}/stat", pid_));
  std::string line;
  std::getline(file, line);
  // The second field is the program's name in brackets and may contain any character.
  std::istringstream rest(line.substr(std::min(line.rfind(')') + 1, line.size())));
  std::string skipped;
  for (int i = 0; i < 11; ++i) rest >> skipped;
  double user = 0, system = 0;
  rest >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::size_t ChildProcess::PeakMemoryBytes() const {
  if (pid_ < 0) return 0;
  std::ifstream file(fmt::format("/proc/{}/status", pid_));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

std::string OwnExecutable() {
  char path[4096];
  const auto size = ::readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : "berth";
}

}  // namespace berth
