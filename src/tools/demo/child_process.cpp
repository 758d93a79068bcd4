#include "tools/demo/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

namespace berth::demo {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Runs in the child between fork and exec: only functions that are safe after a fork.
[[noreturn]] void ExecChild(const std::vector<char*>& arguments, int log, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent died before prctl took effect
  ::setpgid(0, 0);                          // the parent handles Ctrl-C at the terminal
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execvp(arguments[0], arguments.data());
  const char* reason = std::strerror(errno);
  (void)!::write(STDERR_FILENO, reason, std::strlen(reason));
  ::_exit(127);
}

}  // namespace

Expected<ChildProcess> ChildProcess::Start(const std::vector<std::string>& arguments,
                                           const std::string& log_file) {
  if (arguments.empty()) return Invalid("no program to start");
  const int log = ::open(log_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (log < 0)
    return Fail(ErrorCode::kUnavailable, fmt::format("cannot write {}: {}", log_file, std::strerror(errno)));
  std::vector<char*> pointers;
  for (const auto& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) ExecChild(pointers, log, parent);
  ::close(log);
  if (child < 0)
    return Fail(ErrorCode::kUnavailable,
                fmt::format("cannot start {}: {}", arguments[0], std::strerror(errno)));
  return ChildProcess(child);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      ended_(std::move(other.ended_)),
      final_cpu_seconds_(other.final_cpu_seconds_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    Stop();
    pid_ = std::exchange(other.pid_, -1);
    ended_ = std::move(other.ended_);
    final_cpu_seconds_ = other.final_cpu_seconds_;
  }
  return *this;
}

ChildProcess::~ChildProcess() { Stop(); }

bool ChildProcess::Reap(int options) {
  if (pid_ < 0) return true;
  int status = 0;
  rusage usage{};
  const pid_t done = ::wait4(pid_, &status, options, &usage);
  if (done == 0 || (done < 0 && errno == EINTR)) return false;
  final_cpu_seconds_ = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  ended_ = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                               : fmt::format("exit code {}", WEXITSTATUS(status));
  pid_ = -1;
  return true;
}

std::optional<std::string> ChildProcess::Ended() {
  Reap(WNOHANG);
  return ended_;
}

void ChildProcess::Stop(std::chrono::milliseconds grace) {
  if (pid_ < 0) return;
  ::kill(pid_, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + grace;
  while (!Reap(WNOHANG)) {
    if (std::chrono::steady_clock::now() >= deadline) {
      ::kill(pid_, SIGKILL);
      while (!Reap(0)) {
      }
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
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
  std::ifstream file(fmt::format("/proc/{}/status", pid_));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

std::vector<std::string> CommandLine(std::string_view text,
                                     const std::vector<std::pair<std::string, std::string>>& replacements) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? 0 : c;
      in_word = true;
    } else if (quote == 0 && c == ' ') {
      if (std::exchange(in_word, false)) words.push_back(std::exchange(word, {}));
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) words.push_back(word);
  for (auto& each : words) {
    for (const auto& [name, value] : replacements) {
      const std::string place = "{" + name + "}";
      for (auto at = each.find(place); at != std::string::npos; at = each.find(place, at + value.size())) {
        each.replace(at, place.size(), value);
      }
    }
  }
  return words;
}

std::string OwnExecutable() {
  char path[4096];
  const auto size = ::readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : "berth";
}

std::string LastLines(const std::string& file, std::size_t lines) {
  std::ifstream input(file);
  std::vector<std::string> all;
  for (std::string line; std::getline(input, line);) all.push_back(std::move(line));
  std::string text;
  for (std::size_t i = all.size() > lines ? all.size() - lines : 0; i < all.size(); ++i)
    text += "  " + all[i] + "\n";
  return text;
}

}  // namespace berth::demo
