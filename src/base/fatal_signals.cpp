#include "base/fatal_signals.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "base/crash_report.hpp"

namespace berth {
namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr std::size_t kAlternateStackSize = 64 << 10;
// The report may hang: on a pipe that is full, or on a lock of the dynamic linker.
constexpr unsigned kReportSeconds = 10;

std::atomic<int> reported{0};  // the signal that is being reported; 0: none

std::uintptr_t Instruction(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return machine.pc;
#else
#error "add the program counter of this architecture"
#endif
}

// The signal ends the process when it is not blocked any more: at the latest when its handler returns, with
// the registers of the fault.
void EndBySignal(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// In any thread.
void OnAlarm(int) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, reported);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  EndBySignal(reported);
}

void OnFatalSignal(int signal, siginfo_t* info, void* context) {
  int none = 0;
  if (!reported.compare_exchange_strong(none, signal)) {
    for (;;) ::pause();  // another thread writes its report and ends the process
  }
  std::signal(SIGALRM, &OnAlarm);
  ::alarm(kReportSeconds);
  std::array<char, 512> buffer;
  const std::string_view header = crash_report::Header(buffer, __FILE__, __LINE__);
  std::array<char, 17> thread{};  // 16 bytes, terminated
  ::prctl(PR_GET_NAME, thread.data());
  // The address of the data, or of the instruction for SIGFPE and SIGILL. A signal of kill(2) has none.
  const auto address = info->si_code > 0 ? reinterpret_cast<std::uintptr_t>(info->si_addr) : 0;
  const auto end =
      fmt::format_to_n(buffer.data() + header.size(), buffer.size() - header.size(),
                       "\"Fatal signal\" signal=\"SIG{}\" code={} address=\"{:#x}\" thread=\"{}\"\n",
                       ::sigabbrev_np(signal), info->si_code, address, thread.data())
          .out;
  crash_report::Write({buffer.data(), end});
  crash_report::WriteStackOfSignal(Instruction(context));
  EndBySignal(signal);
}

bool HasHandler(int signal) {
  struct sigaction current{};
  return ::sigaction(signal, nullptr, &current) == 0 && current.sa_handler != SIG_DFL;
}

}  // namespace

void ReportFatalSignals() {
  static const AlternateStack stack;
  crash_report::PrepareStack();
  struct sigaction action{};
  action.sa_sigaction = &OnFatalSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  // A second fault during the report ends the process at once: the kernel does not deliver a blocked one.
  sigfillset(&action.sa_mask);
  sigdelset(&action.sa_mask, SIGALRM);
  for (const int signal : kSignals) {
    if (!HasHandler(signal)) ::sigaction(signal, &action, nullptr);
  }
}

AlternateStack::AlternateStack() {
  // Of its own mapping: it costs no memory until it is used.
  void* memory =
      ::mmap(nullptr, kAlternateStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  const stack_t stack{.ss_sp = memory, .ss_flags = 0, .ss_size = kAlternateStackSize};
  if (::sigaltstack(&stack, nullptr) == 0) {
    memory_ = memory;
  } else {
    ::munmap(memory, kAlternateStackSize);
  }
}

AlternateStack::~AlternateStack() {
  if (memory_ == nullptr) return;
  const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  ::sigaltstack(&none, nullptr);
  ::munmap(memory_, kAlternateStackSize);
}

}  // namespace berth
