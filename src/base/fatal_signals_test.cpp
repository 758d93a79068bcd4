#include "base/fatal_signals.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace berth {
namespace {

using ::testing::KilledBySignal;

// Not called directly: the compiler must not see what they do.
[[gnu::noinline]] void ReadFrom(const volatile int* address) { static_cast<void>(*address); }
const volatile int* volatile nowhere = nullptr;

volatile int zero = 0;
volatile int quotient = 0;
[[gnu::noinline]] void DivideBy(int divisor) { quotient = 7 / divisor; }

[[gnu::noinline]] int Recurse(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : Recurse(depth + 1) + frame[0];
}

class FatalSignalsDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    struct sigaction current{};
    ASSERT_EQ(::sigaction(SIGSEGV, nullptr, &current), 0);
    if (current.sa_handler != SIG_DFL) GTEST_SKIP() << "the sanitizer reports fatal signals";
  }
  // In the child of a death test.
  static void Prepare() {
    const rlimit none{};
    ::setrlimit(RLIMIT_CORE, &none);
    ReportFatalSignals();
  }
};

TEST_F(FatalSignalsDeathTest, ReportsTheSignalAndTheStackAndKeepsTheExitStatus) {
  EXPECT_EXIT(
      (Prepare(), ReadFrom(nowhere)), KilledBySignal(SIGSEGV),
      "F[0-9]{4} [0-9:.]+ +[0-9]+ fatal_signals.cpp:[0-9]+\\] \"Fatal signal\" signal=\"SIGSEGV\" code=1 "
      "address=\"0x0\" thread=\".*\n    #1 0x[0-9a-f]+ .*ReadFrom.*\n    #2 0x");
}

TEST_F(FatalSignalsDeathTest, ReportsEverySignal) {
  EXPECT_EXIT((Prepare(), DivideBy(zero)), KilledBySignal(SIGFPE),
              "signal=\"SIGFPE\" code=1 .*#1 [^\n]*DivideBy");
  EXPECT_EXIT((Prepare(), __builtin_trap()), KilledBySignal(SIGILL), "signal=\"SIGILL\" code=2 ");
  EXPECT_EXIT((Prepare(), std::abort()), KilledBySignal(SIGABRT),
              "signal=\"SIGABRT\" code=-6 address=\"0x0\" ");
  EXPECT_EXIT((Prepare(), std::raise(SIGBUS)), KilledBySignal(SIGBUS),
              "signal=\"SIGBUS\" code=-6 address=\"0x0\" ");
}

TEST_F(FatalSignalsDeathTest, ReportsACallToNoFunction) {
  EXPECT_EXIT((Prepare(), reinterpret_cast<void (*)()>(const_cast<int*>(nowhere))()), KilledBySignal(SIGSEGV),
              "#1 0x0 \\?\n    #2 0x");
}

TEST_F(FatalSignalsDeathTest, ReportsAnOverflowOfTheStack) {
  EXPECT_EXIT((Prepare(), Recurse(0)), KilledBySignal(SIGSEGV),
              "signal=\"SIGSEGV\" .*#1 [^\n]*Recurse.*\n.*#2 [^\n]*Recurse");
}

TEST_F(FatalSignalsDeathTest, ReportsAnOverflowOfTheStackOfAThread) {
  EXPECT_EXIT((Prepare(), std::thread([] {
                            const AlternateStack stack;
                            Recurse(0);
                          }).join()),
              KilledBySignal(SIGSEGV), "signal=\"SIGSEGV\" .*#1 [^\n]*Recurse");
}

TEST_F(FatalSignalsDeathTest, OtherHandlersAreKept) {
  const auto install_and_raise = [] {
    std::signal(SIGILL, [](int) { std::_Exit(3); });
    Prepare();
    std::raise(SIGILL);
  };
  EXPECT_EXIT(install_and_raise(), testing::ExitedWithCode(3), "");
}

// For example because nothing reads the log. The alarm is sent by the test.
TEST_F(FatalSignalsDeathTest, AReportThatHangsEndsBySignal) {
  const auto crash = [] {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_NONBLOCK) != 0) std::_Exit(1);
    while (::write(ends[1], "full", 4) > 0) {
    }
    ::fcntl(ends[1], F_SETFL, 0);  // writing blocks
    ::dup2(ends[1], STDERR_FILENO);
    Prepare();
    std::thread alarm([] {
      struct sigaction current{};
      while (::sigaction(SIGALRM, nullptr, &current) == 0 && current.sa_handler == SIG_DFL)
        std::this_thread::yield();
      ::kill(::getpid(), SIGALRM);
    });
    std::raise(SIGSEGV);
    alarm.join();
  };
  EXPECT_EXIT(crash(), KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace berth
