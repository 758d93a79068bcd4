#include "process/heap_trimming.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "http/fake_loop.hpp"

namespace berth::process {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class FakeHeap final : public Heap {
 public:
  std::uint64_t ResidentBytes() const override { return resident; }
  std::uint64_t UsedBytes() const override {
    ++walks;
    return used;
  }
  void Trim() override {
    ++trims;
    resident = std::min(resident, used + pinned);
  }
  std::uint64_t resident = 0, used = 0;
  std::uint64_t pinned = 0;  // free, but on pages in use
  mutable int walks = 0;
  int trims = 0;
};

class Trimming : public ::testing::Test {
 protected:
  Trimming() { TrimRegularly(loop_, HeapTrimming(heap_)); }
  void Use(std::uint64_t mebibytes) {
    heap_->used = mebibytes * kMiB;
    heap_->resident = std::max(heap_->resident, heap_->used);
  }

  std::shared_ptr<FakeHeap> heap_ = std::make_shared<FakeHeap>();
  http::FakeLoop loop_;
};

TEST_F(Trimming, FreedMemoryIsReturned) {
  Use(30);
  loop_.Advance(std::chrono::minutes(10));
  Use(200);
  loop_.Advance(std::chrono::seconds(10));
  EXPECT_EQ(heap_->trims, 0) << "all of it is used";
  Use(30);
  loop_.Advance(std::chrono::seconds(20));
  EXPECT_EQ(heap_->trims, 1);
  EXPECT_EQ(heap_->resident, 30 * kMiB);
}

TEST_F(Trimming, ASmallShareOfFreeMemoryIsKept) {
  Use(1000);
  heap_->resident = 1140 * kMiB;
  loop_.Advance(std::chrono::hours(1));
  EXPECT_EQ(heap_->trims, 0);
}

TEST_F(Trimming, AHeapOfConstantSizeIsWalkedRarely) {
  Use(500);
  loop_.Advance(std::chrono::hours(24));
  EXPECT_LT(heap_->walks, 24 * 3600 / 640 + 10);
}

TEST_F(Trimming, FreeMemoryThatCannotBeReturnedIsTriedRarely) {
  heap_->pinned = 100 * kMiB;
  Use(50);
  heap_->resident = 150 * kMiB;
  loop_.Advance(std::chrono::hours(24));
  EXPECT_LT(heap_->trims, 24 * 3600 / 640 + 10);
}

TEST(MallocsHeap, CountsWhatIsUsedAndResident) {
  const auto heap = MallocHeap();
  const std::uint64_t before = heap->ResidentBytes();
  std::vector<char> used(64 * kMiB, 'x');
  EXPECT_GT(heap->ResidentBytes(), before + 60 * kMiB);
}

}  // namespace
}  // namespace berth::process
