// Returns freed memory to the system. malloc keeps it as long as memory behind it is in use, so that a burst
// of large pods or connections would otherwise determine the size of the process until it ends.
#pragma once

#include <cstdint>
#include <memory>

#include "http/loop.hpp"

namespace berth::process {

// The process's heap, as an interface for tests.
class Heap {
 public:
  virtual ~Heap() = default;
  // Resident memory that no file backs.
  virtual std::uint64_t ResidentBytes() const = 0;
  // Allocated memory. Takes 0.4 us per free block; other threads that need memory may wait.
  virtual std::uint64_t UsedBytes() const = 0;
  // Takes as long as UsedBytes, and returns all free pages.
  virtual void Trim() = 0;
};

std::shared_ptr<Heap> MallocHeap();

// Decides when to trim. In a process whose size does not change, the free memory is determined at intervals
// that double up to kLongestPause.
class HeapTrimming {
 public:
  static constexpr std::chrono::seconds kInterval{10};
  static constexpr std::chrono::seconds kLongestPause{640};
  // Less free memory, or a smaller change of the resident memory, is ignored.
  static constexpr std::uint64_t kIgnoredBytes = 16 << 20;

  explicit HeapTrimming(std::shared_ptr<Heap> heap) : heap_(std::move(heap)) {}
  // To be called every kInterval.
  void Check();

 private:
  std::shared_ptr<Heap> heap_;
  std::uint64_t resident_at_last_ = 0;  // when the free memory was determined
  Duration pause_ = kInterval;
  Duration left_{0};  // of the pause
};

// Checks the heap every kInterval as long as the loop runs.
void TrimRegularly(http::Loop& loop, HeapTrimming trimming);

}  // namespace berth::process
