#include "service/profiling/sampler.hpp"

#include <sys/time.h>
#include <unwind.h>

#include <cerrno>
#include <csignal>
#include <thread>

namespace berth::service {

// Filled by the signal handler: no locks, no allocation. Each stack takes only as many entries as it has
// frames.
struct Sampler::Buffer {
  explicit Buffer(std::size_t samples) : frames(samples * 16) {}
  std::vector<std::uint64_t> frames;  // each stack: number of frames, then the frames
  std::atomic<std::size_t> used{0};
};

namespace {

// The current buffer, and the number of handlers that are writing to it; it is freed only when that is 0.
std::atomic<void*> g_buffer{nullptr};
std::atomic<int> g_writers{0};

struct Backtrace {
  std::uint64_t frames[Sampler::kDepth];
  int count = 0;
  int skip = 2;  // the handler, and the kernel's trampoline
};

_Unwind_Reason_Code Step(_Unwind_Context* context, void* argument) {
  auto& backtrace = *static_cast<Backtrace*>(argument);
  int before = 0;
  const std::uint64_t address = _Unwind_GetIPInfo(context, &before);
  if (backtrace.skip > 0) {
    --backtrace.skip;
    return _URC_NO_REASON;
  }
  if (address == 0 || backtrace.count == Sampler::kDepth) return _URC_END_OF_STACK;
  // A return address points behind the call; one byte back is within the call instruction.
  backtrace.frames[backtrace.count++] = before != 0 ? address : address - 1;
  return _URC_NO_REASON;
}

}  // namespace

void Sampler::OnSignal(int) {
  const int saved = errno;
  g_writers.fetch_add(1);
  if (auto* buffer = static_cast<Buffer*>(g_buffer.load())) {
    Backtrace backtrace;
    _Unwind_Backtrace(&Step, &backtrace);
    const auto size = static_cast<std::size_t>(backtrace.count) + 1;
    const std::size_t at = buffer->used.fetch_add(size);
    if (at + size <= buffer->frames.size()) {
      buffer->frames[at] = static_cast<std::uint64_t>(backtrace.count);
      for (int i = 0; i < backtrace.count; ++i)
        buffer->frames[at + 1 + static_cast<std::size_t>(i)] = backtrace.frames[i];
    }
  }
  g_writers.fetch_sub(1);
  errno = saved;
}

std::unique_ptr<Sampler> Sampler::Start(std::size_t most_samples) {
  auto buffer = std::make_unique<Buffer>(most_samples);
  void* unset = nullptr;
  if (!g_buffer.compare_exchange_strong(unset, buffer.get())) return nullptr;
  // The unwinder loads libraries at its first use, which must not happen in a signal handler.
  Backtrace backtrace;
  _Unwind_Backtrace(&Step, &backtrace);
  // The handler stays installed: a late signal must find it.
  struct sigaction action{};
  action.sa_handler = &Sampler::OnSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  auto sampler = std::unique_ptr<Sampler>(new Sampler(std::move(buffer)));
  itimerval timer{};
  timer.it_interval.tv_usec = timer.it_value.tv_usec = kPeriod.count();
  sampler->running_ = true;
  if (setitimer(ITIMER_PROF, &timer, nullptr) != 0) return nullptr;
  return sampler;
}

Sampler::Sampler(std::unique_ptr<Buffer> buffer) : buffer_(std::move(buffer)) {}

Sampler::~Sampler() { Stop(); }

void Sampler::Stop() {
  if (!running_) return;
  running_ = false;
  const itimerval off{};
  setitimer(ITIMER_PROF, &off, nullptr);
  g_buffer.store(nullptr);
  while (g_writers.load() != 0) std::this_thread::yield();
}

std::vector<Sampler::Stack> Sampler::Finish() {
  Stop();
  std::vector<Stack> stacks;
  const auto& frames = buffer_->frames;
  const std::size_t used = std::min(buffer_->used.load(), frames.size());
  // The last stack may not have fitted; its entries are empty then.
  for (std::size_t at = 0; at < used;) {
    const auto count = static_cast<std::size_t>(frames[at]);
    if (at + 1 + count > used) break;
    const auto begin = frames.begin() + static_cast<std::ptrdiff_t>(at + 1);
    if (count > 0) stacks.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(count));
    at += 1 + count;
  }
  return stacks;
}

}  // namespace berth::service
