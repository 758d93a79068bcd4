#include "kubernetes/client/subprocess.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <system_error>

extern char** environ;  // NOLINT

namespace berth::client {
namespace {

constexpr std::size_t kOutputMax = 1U << 20;
constexpr int kPollMillis = 50;

std::vector<std::string> EnvironmentOf(const Command& command) {
  std::map<std::string, std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    if (equals != text.npos) merged[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : command.env) merged[name] = value;
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

// The running program; the destructor kills its process group unless it has already been waited for.
class Child {
 public:
  Expected<> Start(const Command& command) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return Trouble("pipe", errno);
    read_ = ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (!command.interactive) {
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
      posix_spawnattr_setflags(&attributes,
                               // its own process group, so that all of it can be killed
                               POSIX_SPAWN_SETPGROUP);
      grouped_ = true;
    }
    std::vector<std::string> args{command.program};
    args.insert(args.end(), command.args.begin(), command.args.end());
    std::vector<std::string> env = EnvironmentOf(command);
    const int error = ::posix_spawnp(&pid_, command.program.c_str(), &actions, &attributes,
                                     Pointers(args).data(), Pointers(env).data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    ::close(ends[1]);
    if (error == 0) return {};
    pid_ = -1;
    return Trouble(command.program, error);
  }

  ~Child() {
    if (read_ >= 0) ::close(read_);
    if (pid_ <= 0) return;
    ::kill(grouped_ ? -pid_ : pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  // False at the end of its output.
  bool Read(std::string& out) {
    pollfd waiting{read_, POLLIN, 0};
    if (::poll(&waiting, 1, kPollMillis) <= 0) return true;
    char buffer[4096];
    const auto got = ::read(read_, buffer, sizeof buffer);
    if (got > 0) out.append(buffer, static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && errno == EINTR);
  }
  // Whether the program has ended.
  bool Ended(int& exit_code) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
    pid_ = -1;
    exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
  }

 private:
  static Expected<> Trouble(std::string_view what, int error) {
    return Fail(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInternal,
                fmt::format("{}: {}", what, std::generic_category().message(error)));
  }

  pid_t pid_ = -1;
  int read_ = -1;
  bool grouped_ = false;
};

}  // namespace

Expected<CommandOutput> RunCommand(const Command& command, std::stop_token stop) {
  Child child;
  if (auto started = child.Start(command); !started) return std::unexpected(std::move(started).error());
  const auto deadline = std::chrono::steady_clock::now() + command.timeout;
  CommandOutput output;
  bool reading = true;
  for (;;) {
    if (reading) {
      reading = child.Read(output.out);
    } else {
      ::poll(nullptr, 0, 1);
    }
    if (!reading && child.Ended(output.exit_code)) return output;
    if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "cancelled");
    if (std::chrono::steady_clock::now() >= deadline) {
      return Fail(ErrorCode::kTimeout,
                  fmt::format("{} took longer than {} seconds", command.program,
                              std::chrono::duration_cast<std::chrono::seconds>(command.timeout).count()));
    }
    if (output.out.size() > kOutputMax) return Invalid(command.program + " printed more than 1 MiB");
  }
}

}  // namespace berth::client
