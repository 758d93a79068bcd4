#include "process/heap_trimming.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace berth::process {
namespace {

class Malloc final : public Heap {
 public:
  std::uint64_t ResidentBytes() const override {
    std::uint64_t size = 0, resident = 0, of_files = 0;  // in pages
    std::ifstream("/proc/self/statm") >> size >> resident >> of_files;
    return (resident - of_files) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }
  std::uint64_t UsedBytes() const override {
    const auto all = ::mallinfo2();
    return all.uordblks + all.hblkhd;
  }
  void Trim() override { ::malloc_trim(0); }
};

}  // namespace

std::shared_ptr<Heap> MallocHeap() { return std::make_shared<Malloc>(); }

void HeapTrimming::Check() {
  const std::uint64_t resident = heap_->ResidentBytes();
  const auto [smaller, larger] = std::minmax(resident, resident_at_last_);
  const bool changed = larger - smaller > kIgnoredBytes;
  if (changed) pause_ = kInterval;
  left_ -= kInterval;
  if (!changed && left_ > Duration::zero()) return;

  const std::uint64_t used = heap_->UsedBytes();
  resident_at_last_ = resident;
  if (resident > used + used / 8 + kIgnoredBytes) {
    heap_->Trim();
    resident_at_last_ = heap_->ResidentBytes();
  }
  left_ = pause_;
  pause_ = std::min<Duration>(2 * pause_, kLongestPause);
}

void TrimRegularly(http::Loop& loop, HeapTrimming trimming) {
  loop.Post([&loop, trimming = std::move(trimming)]() mutable {
    loop.After(HeapTrimming::kInterval, [&loop, trimming = std::move(trimming)]() mutable {
      trimming.Check();
      TrimRegularly(loop, std::move(trimming));
    });
  });
}

}  // namespace berth::process
