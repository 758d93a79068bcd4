// Reports of signals that end the process because of a defect.
#pragma once

#include <cstddef>

namespace berth {

// From now on SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT write one line in klog's format ("F... file:line]
// "Fatal signal" signal="SIGSEGV" code=1 address="0x0" thread="berth"") and a stack trace to the standard
// error stream. Then the signal ends the process as it would have done without a report: exit status, core
// dump and the registers in it are the same. The lease is not released. Signals that have a handler already,
// such as those of a sanitizer, are left alone. Main thread, before other threads start; again: does nothing.
void ReportFatalSignals();

// A stack of its own for the signal handlers of the calling thread, so that the overflow of the thread's own
// stack is reported, too. The main thread gets one from ReportFatalSignals. Destroyed by the thread that
// created it.
class AlternateStack {
 public:
  AlternateStack();
  ~AlternateStack();
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  void* memory_ = nullptr;  // null: the thread has no such stack
};

}  // namespace berth
