#include "scheduler/plugin_host/load_check.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>

#include "scheduler/plugin_host/shared_object.hpp"

namespace berth::plugin_host {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The lines that the child writes: one before each step, and finally the result.
constexpr char kStep = 's';
constexpr char kGood = 'g';
constexpr char kBad = 'b';

void WriteLine(int to, char kind, std::string_view text) {
  std::string line(1, kind);
  for (const char c : text) line += c == '\n' ? ' ' : c;
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const auto written = ::write(to, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) ::_exit(1);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Runs in the child. Closes all inherited descriptors except standard error, which the library may use.
[[noreturn]] void Evaluate(const std::string& path, int report, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::setpgid(0, 0);  // so that its own children can be ended with it
  const rlimit no_core{};
  ::setrlimit(RLIMIT_CORE, &no_core);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM}) std::signal(signal, SIG_DFL);
  if (const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC); nothing >= 0)
    ::dup2(nothing, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  try {
    const auto object =
        OpenSharedObject(path, [report](const char* step) { WriteLine(report, kStep, step); });
    WriteLine(report, object ? kGood : kBad, object ? "" : object.error().message);
  } catch (const std::exception& thrown) {
    WriteLine(report, kBad, fmt::format("threw an exception: {}", thrown.what()));
  } catch (...) {
    WriteLine(report, kBad, "threw an exception");
  }
  ::_exit(0);
}

// Reads until the other end is closed or the deadline passes. Returns true if it was closed.
bool ReadAll(int from, SteadyClock::time_point deadline, std::string& text) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now()).count();
    pollfd wait{.fd = from, .events = POLLIN, .revents = 0};
    const int ready = left > 0 ? ::poll(&wait, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char buffer[4096];
    const auto got = ::read(from, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

struct Report {
  std::string step = "before it was loaded";  // the last step that was started
  bool good = false;
  std::string bad;  // the error; empty: none
};

Report ParseReport(std::string_view text) {
  Report report;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with(kStep)) report.step = line.substr(1);
    if (line.starts_with(kGood)) report.good = true;
    if (line.starts_with(kBad)) report.bad = line.substr(1);
  }
  return report;
}

// Ends the child and its children.
int End(pid_t child) {
  ::kill(-child, SIGKILL);
  ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int AwaitEnd(pid_t child, SteadyClock::time_point deadline, bool& ended) {
  int status = 0;
  while (true) {
    const pid_t done = ::waitpid(child, &status, WNOHANG);
    ended = done == child;
    if (done != 0 && !(done < 0 && errno == EINTR)) return status;
    if (SteadyClock::now() >= deadline) return 0;
    ::usleep(1000);
  }
}

Expected<void> Verdict(const Report& report, int status, bool ended, Duration allowed) {
  if (!report.bad.empty()) return Invalid(report.bad);
  if (!ended) {
    return Invalid(fmt::format("hung {}: not finished after {:g} s", report.step,
                               std::chrono::duration<double>(allowed).count()));
  }
  if (WIFSIGNALED(status)) {
    return Invalid(fmt::format("crashed {}: signal {} ({})", report.step, WTERMSIG(status),
                               ::strsignal(WTERMSIG(status))));
  }
  if (!report.good)
    return Invalid(fmt::format("ended the process {}: exit code {}", report.step, WEXITSTATUS(status)));
  return {};
}

}  // namespace

Expected<void> LoadInChildProcess(const std::string& path, Duration allowed) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Fail(ErrorCode::kUnavailable,
                fmt::format("cannot create a pipe to the child process: {}", std::strerror(errno)));
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    Evaluate(path, ends[1], parent);
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return Fail(ErrorCode::kUnavailable,
                fmt::format("cannot start a child process to load it: {}", std::strerror(errno)));
  }
  const auto deadline = SteadyClock::now() + allowed;
  std::string text;
  bool ended = ReadAll(ends[0], deadline, text);
  ::close(ends[0]);
  int status = 0;
  if (ended) status = AwaitEnd(child, deadline, ended);
  if (!ended) End(child);
  return Verdict(ParseReport(text), status, ended, allowed);
}

}  // namespace berth::plugin_host
