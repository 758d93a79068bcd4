#include "scheduler/recording/writing_thread.hpp"

#include <utility>

namespace berth::recording {

WritingThread::WritingThread(Recorder& recorder) : recorder_(recorder) {
  recorder_.OnMuchWaiting([this] {
    {
      const std::scoped_lock lock(mutex_);
      if (std::exchange(much_waiting_, true)) return;
    }
    wake_.notify_one();
  });
  thread_ = std::jthread([this](const std::stop_token& stop) { WriteAll(stop); });
}

WritingThread::~WritingThread() {
  thread_.request_stop();
  thread_.join();
  recorder_.OnMuchWaiting([] {});
}

void WritingThread::WriteAll(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    const std::scoped_lock lock(mutex_);  // or a thread that is about to wait is not woken
    wake_.notify_one();
  });
  while (true) {
    const bool ending = stop.stop_requested();
    std::uint64_t flush = 0;
    {
      std::unique_lock lock(mutex_);
      const auto wanted = [&] {
        return ending || much_waiting_ || flushes_ > flushed_ || stop.stop_requested();
      };
      wake_.wait_for(lock, recorder_.limits().longest_wait, wanted);
      much_waiting_ = false;
      flush = flushes_;
    }
    recorder_.WriteWaiting();
    {
      const std::scoped_lock lock(mutex_);
      flushed_ = flush;
    }
    written_.notify_all();
    if (ending) return;
  }
}

void WritingThread::Flush() {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = ++flushes_;
  wake_.notify_one();
  written_.wait(lock, [&] { return flushed_ >= wanted; });
}

}  // namespace berth::recording
