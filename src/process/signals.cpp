#include "process/signals.hpp"

#include <pthread.h>
#include <unistd.h>

#include <utility>

#include "observability/log/log.hpp"

namespace berth::process {

namespace {

sigset_t Received() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&set, signal);
  return set;
}

}  // namespace

Signals::Signals() : set_(Received()) {
  pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

void Signals::OnFirst(std::function<void()> stop) {
  thread_ = std::jthread([this, stop = std::move(stop)] {
    for (bool stopping = false;;) {
      int signal = 0;
      sigwait(&set_, &signal);
      if (signal == SIGUSR1) return;  // sent by the destructor
      if (signal == SIGHUP) {
        Hangup();
        continue;
      }
      if (std::exchange(stopping, true)) _exit(1);
      Stop(stop);
    }
  });
}

void Signals::Stop(const std::function<void()>& stop) {
  const std::scoped_lock lock(mutex_);
  if (!disarmed_) stop();
}

void Signals::Hangup() {
  const std::scoped_lock lock(mutex_);
  if (disarmed_) return;
  if (hangup_) return hangup_();
  log::Info(
      "SIGHUP has no effect: certificates, tokens and CA files are read again by themselves; a "
      "changed configuration or kubeconfig needs a restart");
}

void Signals::Disarm() {
  const std::scoped_lock lock(mutex_);
  disarmed_ = true;
}

Signals::~Signals() {
  if (thread_.joinable()) pthread_kill(thread_.native_handle(), SIGUSR1);
}

SignalsBlocked::SignalsBlocked() {
  const sigset_t set = Received();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}

SignalsBlocked::~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace berth::process
