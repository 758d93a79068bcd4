// The thread that writes a recording.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <thread>

#include "scheduler/recording/recorder.hpp"

namespace berth::recording {

// Writes what the loop has appended: after RecorderLimits::longest_wait, or when a quarter of its
// `waiting_bytes` waits.
class WritingThread {
 public:
  // Between Recorder::Start and the first iteration of the loop. The recorder must outlive this object.
  explicit WritingThread(Recorder& recorder);
  // Writes what is waiting. The loop must have ended.
  ~WritingThread();
  WritingThread(const WritingThread&) = delete;
  WritingThread& operator=(const WritingThread&) = delete;

  // Returns when everything that was appended before the call is written. Any thread.
  void Flush();

 private:
  void WriteAll(const std::stop_token& stop);

  Recorder& recorder_;
  std::mutex mutex_;
  std::condition_variable wake_, written_;
  bool much_waiting_ = false;
  std::uint64_t flushes_ = 0, flushed_ = 0;  // requested and done
  std::jthread thread_;                      // the last member: it uses the others
};

}  // namespace berth::recording
