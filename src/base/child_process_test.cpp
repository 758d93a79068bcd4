#include "base/child_process.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace berth {
namespace {

using namespace std::chrono_literals;
using End = ChildResult::End;

ChildOptions Shell(const std::string& script) { return {.arguments = {"sh", "-c", script}}; }

ChildResult RunToEnd(const ChildOptions& options, const ChildLimits& limits = {}, std::stop_token stop = {}) {
  auto child = ChildProcess::Start(options);
  EXPECT_TRUE(child) << child.error().message;
  return child ? child->Wait(limits, stop) : ChildResult{};
}

bool Exists(pid_t process) {
  // A zombie whose parent has not waited yet has ended.
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string id, name, state;
  return file >> id >> name >> state && state != "Z";
}

bool EndsSoon(pid_t process) {
  for (int i = 0; i < 500 && Exists(process); ++i) std::this_thread::sleep_for(10ms);
  return !Exists(process);
}

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(ChildProcess, ReturnsOutputAndExitCode) {
  const auto ran = RunToEnd(Shell("echo out; echo error >/dev/null; exit 4"));
  EXPECT_EQ(ran.end, End::kExited);
  EXPECT_EQ(ran.output, "out\n");
  EXPECT_EQ(ran.status.code, 4);
  EXPECT_EQ(ran.status.ShellCode(), 4);
  EXPECT_EQ(ran.status.Text(), "exit code 4");
}

TEST(ChildProcess, ReturnsTheSignal) {
  const auto ran = RunToEnd(Shell("kill -KILL $$"));
  EXPECT_EQ(ran.end, End::kExited);
  EXPECT_EQ(ran.status.signal, SIGKILL);
  EXPECT_EQ(ran.status.ShellCode(), 137);
  EXPECT_EQ(ran.status.Text(), "signal 9");
}

TEST(ChildProcess, PassesArgumentsAndEnvironment) {
  ChildOptions options{.arguments = {"sh", "-c", "echo \"$1|$X|$HOME\"", "sh", "a b"},
                       .environment = {{"X", "first"}, {"X", "last"}}};
  EXPECT_EQ(RunToEnd(options).output, "a b|last|" + std::string(std::getenv("HOME")) + "\n");
}

TEST(ChildProcess, HasNoBlockedOrIgnoredSignals) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto handler = std::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(RunToEnd(Shell("kill -TERM $$; echo blocked")).status.signal, SIGTERM);
  EXPECT_EQ(RunToEnd(Shell("kill -PIPE $$; echo ignored")).status.signal, SIGPIPE);
  std::signal(SIGPIPE, handler);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(ChildProcess, HasNoInputUnlessInteractive) {
  EXPECT_EQ(RunToEnd(Shell("cat; echo end")).output, "end\n");
}

TEST(ChildProcess, ReportsAMissingProgram) {
  const auto child = ChildProcess::Start({.arguments = {"no-such-program-anywhere", "x"}});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(child.error().message, "no-such-program-anywhere: No such file or directory");
  EXPECT_EQ(ChildProcess::Start({.arguments = {"/etc/passwd"}}).error().message,
            "/etc/passwd: Permission denied");
  EXPECT_FALSE(ChildProcess::Start({}));
}

TEST(ChildProcess, KillsTheProcessGroupAfterTheTimeout) {
  const auto began = std::chrono::steady_clock::now();
  const auto ran = RunToEnd(Shell("sleep 1000 & echo $!; sleep 1000"), {.timeout = 200ms});
  EXPECT_EQ(ran.end, End::kTimeout);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
  EXPECT_TRUE(EndsSoon(std::stoi(ran.output))) << "its own child";
}

TEST(ChildProcess, WaitsForTheEndAfterTheOutputWasClosed) {
  EXPECT_EQ(RunToEnd(Shell("exec >&-; sleep 0.1; exit 3")).status.code, 3);
  EXPECT_EQ(RunToEnd(Shell("exec >&-; sleep 1000"), {.timeout = 100ms}).end, End::kTimeout);
}

TEST(ChildProcess, LimitsTheOutput) {
  const auto ran = RunToEnd({.arguments = {"yes"}}, {.output_bytes = 10'000});
  EXPECT_EQ(ran.end, End::kOutputLimit);
  EXPECT_EQ(ran.output.size(), 10'000U);
}

TEST(ChildProcess, StopsOnRequest) {
  std::stop_source stop;
  std::jthread later([&] {
    std::this_thread::sleep_for(100ms);
    stop.request_stop();
  });
  EXPECT_EQ(RunToEnd(Shell("sleep 1000"), {}, stop.get_token()).end, End::kStopped);
}

TEST(ChildProcess, WritesOutputAndErrorsToAFile) {
  const std::string path = testing::TempDir() + "/child_process_test.log";
  ChildOptions options = Shell("echo one; echo two >&2");
  options.output = OutputToFile{path};
  EXPECT_EQ(RunToEnd(options).output, "");
  EXPECT_EQ(ReadFile(path), "one\ntwo\n");
  options.output = OutputToFile{"/no/such/folder/log"};
  EXPECT_EQ(ChildProcess::Start(options).error().message,
            "cannot write /no/such/folder/log: No such file or directory");
  std::filesystem::remove(path);
}

TEST(ChildProcess, StopSendsSigtermFirst) {
  auto child = ChildProcess::Start(Shell("trap 'exit 7' TERM; while :; do sleep 0.01; done"));
  ASSERT_TRUE(child);
  std::this_thread::sleep_for(200ms);  // until the shell has set its trap
  EXPECT_EQ(child->Ended(), std::nullopt);
  EXPECT_GT(child->PeakMemoryBytes(), 0U);
  child->Stop();
  ASSERT_TRUE(child->Ended());
  EXPECT_EQ(child->Ended()->code, 7);
  EXPECT_EQ(child->pid(), -1);
  EXPECT_GT(child->CpuSeconds(), 0);
}

TEST(ChildProcess, StopKillsAfterTheGracePeriod) {
  auto child = ChildProcess::Start(Shell("trap '' TERM; while :; do sleep 0.01; done"));
  ASSERT_TRUE(child);
  std::this_thread::sleep_for(200ms);
  child->Stop(50ms);
  ASSERT_TRUE(child->Ended());
  EXPECT_EQ(child->Ended()->signal, SIGKILL);
}

TEST(ChildProcess, IsKilledByTheDestructorAndByMoveAssignment) {
  auto first = ChildProcess::Start({.arguments = {"sleep", "1000"}});
  const pid_t first_pid = first->pid();
  pid_t second_pid = 0;
  {
    auto second = ChildProcess::Start({.arguments = {"sleep", "1000"}});
    second_pid = second->pid();
    EXPECT_TRUE(Exists(first_pid));
    ChildProcess moved = std::move(*second);
    *first = std::move(moved);
  }
  EXPECT_TRUE(EndsSoon(first_pid));
  EXPECT_TRUE(Exists(second_pid));
  first = Invalid("");
  EXPECT_TRUE(EndsSoon(second_pid));
}

TEST(ChildProcess, EndsWithTheThreadThatStartedIt) {
  std::optional<ChildProcess> child;
  std::thread([&] { child = std::move(*ChildProcess::Start({.arguments = {"sleep", "1000"}})); }).join();
  EXPECT_EQ(child->Wait({}, {}).status.signal, SIGKILL);
}

TEST(ChildProcess, ForkRunsAFunction) {
  int here = 0;
  auto child = ChildProcess::Fork([&](int output) {
    here = 1;
    (void)!::write(output, "written", 7);
    ::kill(::getpid(), SIGABRT);
  });
  ASSERT_TRUE(child);
  const auto ran = child->Wait({}, {});
  EXPECT_EQ(ran.output, "written");
  EXPECT_EQ(ran.status.signal, SIGABRT);
  EXPECT_EQ(here, 0) << "the child has a copy";
  EXPECT_EQ(ChildProcess::Fork([](int) {})->Wait({}, {}).status.Text(), "exit code 0");
}

}  // namespace
}  // namespace berth
