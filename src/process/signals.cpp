#include "process/signals.hpp"

#include <pthread.h>
#include <unistd.h>

namespace berth::process {

Signals::Signals() {
  sigemptyset(&set_);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&set_, signal);
  pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

void Signals::OnFirst(std::function<void()> stop) {
  thread_ = std::jthread([this, stop = std::move(stop)] {
    for (int count = 0;; ++count) {
      int signal = 0;
      sigwait(&set_, &signal);
      if (signal == SIGUSR1) return;  // sent by the destructor
      if (count > 0) _exit(1);
      stop();
    }
  });
}

Signals::~Signals() {
  if (thread_.joinable()) pthread_kill(thread_.native_handle(), SIGUSR1);
}

}  // namespace berth::process
