#include "kubernetes/client/fair_queue.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/random.hpp"

namespace berth::client {
namespace {

// The keys of all entries that may have a slot now.
std::string NextOf(FairQueue& queue) {
  std::string keys;
  while (const auto next = queue.Next()) keys += next->key + " ";
  return keys;
}

void Add(FairQueue& queue, const std::string& flow, int count) {
  for (int i = 0; i < count; ++i) queue.Add({flow, flow + std::to_string(i)});
}

TEST(FairQueue, AFlowLeavesSlotsToOthers) {
  FairQueue queue(4, 3);
  Add(queue, "slow", 5);
  EXPECT_EQ(NextOf(queue), "slow0 slow1 slow2 ");
  Add(queue, "other", 2);
  EXPECT_EQ(NextOf(queue), "other0 ");
  EXPECT_EQ(queue.size(), 3U);
}

TEST(FairQueue, EntriesWithoutAFlowMayHaveAllSlots) {
  FairQueue queue(4, 3);
  for (int i = 0; i < 5; ++i) queue.Add({"", std::to_string(i)});
  EXPECT_EQ(NextOf(queue), "0 1 2 3 ");
}

TEST(FairQueue, FlowsTakeTurnsAndEachKeepsItsOrder) {
  FairQueue queue(9, 9);
  Add(queue, "a", 3);
  Add(queue, "b", 2);
  Add(queue, "c", 1);
  EXPECT_EQ(NextOf(queue), "a0 b0 c0 a1 b1 a2 ");
}

TEST(FairQueue, AReleasedSlotGoesToTheFlowWhoseTurnItIs) {
  FairQueue queue(2, 1);
  Add(queue, "a", 2);
  Add(queue, "b", 2);
  EXPECT_EQ(NextOf(queue), "a0 b0 ");
  queue.Release("b");
  EXPECT_EQ(NextOf(queue), "b1 ");
  queue.Release("a");
  EXPECT_EQ(NextOf(queue), "a1 ");
  EXPECT_EQ(queue.size(), 0U);
}

TEST(FairQueue, EveryEntryOfARandomHistoryIsReturnedOnceWithinTheLimits) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    const std::size_t slots = 1 + random.Below(6), of_one = 1 + random.Below(slots);
    FairQueue queue(slots, of_one);
    std::map<std::string, std::size_t> running;
    std::size_t added = 0, returned = 0, used = 0;
    const auto take = [&] {
      while (const auto next = queue.Next()) {
        ++returned;
        ++used;
        ASSERT_EQ(next->key.substr(0, 1), next->flow);
        ASSERT_LE(++running[next->flow], of_one);
        ASSERT_LE(used, slots);
      }
    };
    const auto release = [&] {
      auto flow = running.begin();
      std::advance(flow, random.Below(running.size()));
      queue.Release(flow->first);
      --used;
      if (--flow->second == 0) running.erase(flow);
    };
    for (int step = 0; step < 200; ++step) {
      if (random.Below(2) == 0) {
        const std::string flow(1, static_cast<char>('a' + random.Below(4)));
        queue.Add({flow, flow + std::to_string(added++)});
      } else if (!running.empty()) {
        release();
      }
      take();
    }
    while (!running.empty()) {
      release();
      take();
    }
    EXPECT_EQ(returned, added);
    EXPECT_EQ(queue.size(), 0U);
  }
}

}  // namespace
}  // namespace berth::client
