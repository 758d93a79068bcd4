#include "tests/faults/child_runs.hpp"

#include <fmt/format.h>
#if defined(__has_feature)
#include <sanitizer/allocator_interface.h>
#endif
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <list>
#include <memory>
#include <string_view>

#include "base/check.hpp"
#include "observability/log/log.hpp"
#include "testing/allocated_bytes.hpp"
#include "tests/faults/plan_file.hpp"
#include "tests/faults/recordings.hpp"

namespace berth::faults {
namespace {

constexpr std::string_view kCompleted = "completed";
constexpr std::size_t kMaxOutput = 3'000;
// Of the heap's used bytes, by the second run of a plan.
constexpr std::size_t kMaxGrowth = 16'384;

struct Child {
  pid_t pid = -1;
  int results = -1;  // read end of a pipe
  int output = -1;   // its standard error
  std::uint64_t seed = 0;
  std::string text{};
  std::chrono::steady_clock::time_point deadline;
};

// Lines "<word> <value>", the last one is "completed".
std::string ResultText(const RunResult& result) {
  std::string text = fmt::format("digest {}\n", result.digest);
  for (const auto& [name, count] : result.counts) text += fmt::format("count {} {}\n", count, name);
  for (std::string violation : result.violations) {
    std::ranges::replace(violation, '\n', ' ');
    text += fmt::format("violation {}\n", violation);
  }
  return text + std::string(kCompleted) + "\n";
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define BERTH_SANITIZER_HEAP
#endif
#endif

#ifdef BERTH_SANITIZER_HEAP
std::size_t AllocatedBytes() { return __sanitizer_get_current_allocated_bytes(); }
#else
using testing::AllocatedBytes;
#endif

// The first run fills what is created once per process.
void CompareWithSecondRun(RunResult& result, const Plan& plan, const ChildRunOptions& options) {
  const std::size_t before = AllocatedBytes();
  std::uint64_t digest = 0;
  {
    const RunResult second = options.run(plan, {});
    digest = second.digest;
  }
  const std::size_t after = AllocatedBytes();
  if (digest != result.digest)
    result.violations.emplace_back("the run repeats exactly: the second run had another timeline");
  if (after > before + kMaxGrowth) {
    result.violations.push_back(
        fmt::format("memory returns to its level: a second run has left {} bytes, expected at most {}",
                    after - before, kMaxGrowth));
  }
}

[[noreturn]] void RunChild(const Plan& plan, const ChildRunOptions& options, int results, int output) {
  ::dup2(output, STDERR_FILENO);
  RunResult result = options.run(plan, {});
  if (options.repeat) CompareWithSecondRun(result, plan, options);
  const std::string text = ResultText(result);
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t written = ::write(results, text.data() + sent, text.size() - sent);
    if (written <= 0) break;
    sent += static_cast<std::size_t>(written);
  }
  ::_exit(0);
}

Child StartChild(const Plan& plan, const ChildRunOptions& options) {
  int ends[2];
  BERTH_CHECK(::pipe(ends) == 0);
  const int output = ::memfd_create("output", 0);
  BERTH_CHECK(output >= 0);
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  BERTH_CHECK(pid >= 0);
  if (pid == 0) {
    ::close(ends[0]);
    RunChild(plan, options, ends[1], output);
  }
  ::close(ends[1]);
  return {.pid = pid,
          .results = ends[0],
          .output = output,
          .seed = plan.seed,
          .deadline = std::chrono::steady_clock::now() + options.timeout};
}

std::uint64_t NumberAt(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string EndOf(int file) {
  const off_t size = ::lseek(file, 0, SEEK_END);
  std::string text(std::min<std::size_t>(kMaxOutput, static_cast<std::size_t>(std::max<off_t>(size, 0))),
                   '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), size - static_cast<off_t>(text.size()));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

Outcome End(Child& child, bool late) {
  if (late) ::kill(child.pid, SIGKILL);
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  RemoveRecordingsOf(child.pid);
  Outcome outcome;
  outcome.seed = child.seed;
  bool completed = false;
  std::string_view rest = child.text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::string_view word = line.substr(0, line.find(' '));
    const std::string_view value = line.substr(std::min(word.size() + 1, line.size()));
    if (word == "digest") outcome.digest = NumberAt(value);
    if (word == "count") outcome.counts[std::string(value.substr(value.find(' ') + 1))] = NumberAt(value);
    if (word == "violation") outcome.violations.emplace_back(value);
    completed |= word == kCompleted;
  }
  if (!completed) {
    const std::string how = late                  ? "it was ended after its timeout"
                            : WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                                  : fmt::format("exit code {}", WEXITSTATUS(status));
    outcome.violations.push_back("the process ends properly: " + how);
    outcome.output = EndOf(child.output);
  }
  ::close(child.results);
  ::close(child.output);
  return outcome;
}

}  // namespace

std::string Outcome::invariant() const {
  return violations.empty() ? "" : violations.front().substr(0, violations.front().find(':'));
}

void RunInChildren(const ChildRunOptions& options, const std::function<std::optional<Plan>()>& next,
                   const std::function<void(Outcome)>& done) {
  std::list<Child> children;
  bool more = true;
  while (more || !children.empty()) {
    while (more && children.size() < options.jobs) {
      const std::optional<Plan> plan = next();
      more = plan.has_value();
      if (more) children.push_back(StartChild(*plan, options));
    }
    if (children.empty()) break;
    std::vector<pollfd> waits;
    for (const Child& child : children)
      waits.push_back({.fd = child.results, .events = POLLIN, .revents = 0});
    ::poll(waits.data(), waits.size(), 1'000);
    auto child = children.begin();
    for (const pollfd& wait : waits) {
      bool ended = false;
      if (wait.revents != 0) {
        char buffer[4096];
        const ssize_t got = ::read(child->results, buffer, sizeof buffer);
        if (got > 0) child->text.append(buffer, static_cast<std::size_t>(got));
        ended = got <= 0;
      }
      const bool late = !ended && std::chrono::steady_clock::now() > child->deadline;
      if (!ended && !late) {
        ++child;
        continue;
      }
      done(End(*child, late));
      child = children.erase(child);
    }
  }
}

Outcome RunInChild(const Plan& plan, const ChildRunOptions& options) {
  Outcome outcome;
  std::optional<Plan> next = plan;
  RunInChildren(
      options, [&] { return std::exchange(next, std::nullopt); },
      [&](Outcome each) { outcome = std::move(each); });
  return outcome;
}

// --- files of a run ---

namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Expected<File> Open(const std::string& path) {
  File file(std::fopen(path.c_str(), "w"), std::fclose);
  if (file == nullptr)
    return Fail(ErrorCode::kUnavailable, fmt::format("{}: {}", path, std::strerror(errno)));
  return file;
}

// Each line is in the file before the next event: it stays if the process crashes.
[[noreturn]] void RunWithFiles(const Plan& plan, const ChildRunOptions& options, std::FILE* timeline,
                               std::FILE* log, const std::filesystem::path& recordings) {
  ::alarm(static_cast<unsigned>(options.timeout.count()));
  ::dup2(::fileno(log), STDERR_FILENO);
  log::SetVerbosity(4);
  const RunResult result = options.run(plan, {.timeline =
                                                  [&](const std::string& line) {
                                                    fmt::print(timeline, "{}\n", line);
                                                    std::fflush(timeline);
                                                  },
                                              .recordings = recordings});
  for (const std::string& violation : result.violations) fmt::print(timeline, "violated: {}\n", violation);
  std::fflush(nullptr);
  ::_exit(0);
}

}  // namespace

Expected<void> KeepRun(const Plan& plan, const ChildRunOptions& options, const std::string& directory) {
  const std::filesystem::path recordings = std::filesystem::path(directory) / "recordings";
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!error) std::filesystem::remove_all(recordings, error);  // of an earlier run
  if (error) return Fail(ErrorCode::kUnavailable, fmt::format("{}: {}", directory, error.message()));
  BERTH_TRY(const File description, Open(directory + "/plan.json"));
  BERTH_TRY(const File timeline, Open(directory + "/timeline.txt"));
  BERTH_TRY(const File log, Open(directory + "/log.txt"));
  fmt::print(description.get(), "{}", WritePlan(plan));
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  BERTH_CHECK(pid >= 0);
  if (pid == 0) RunWithFiles(plan, options, timeline.get(), log.get(), recordings);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return {};
}

}  // namespace berth::faults
