#include "simulation/event_queue.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "base/random.hpp"

namespace berth::simulation {
namespace {

// How many of ten operations add and cancel an event; the others take one, or cancel one that is gone.
struct Mix {
  std::uint64_t add, cancel, events_at_first;
};

// Random operations, compared with an ordered map.
void CompareWithMap(const Mix& mix, std::uint64_t seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  EventQueue queue;
  std::map<std::pair<MonoTime, std::uint64_t>, EventQueue::Id> expected;
  std::vector<EventQueue::Id> stale;
  std::uint64_t ran = 0, added = 0;
  const auto add = [&] {
    const MonoTime time(std::chrono::milliseconds(10) * static_cast<int>(random.Below(50)));
    // The event reports its own number, which is the next one.
    const EventQueue::Id id = queue.Add(time, [&ran, number = ++added] { ran = number; });
    ASSERT_EQ(id.number, added);
    expected.emplace(std::pair(time, id.number), id);
  };
  for (std::uint64_t i = 0; i < mix.events_at_first; ++i) add();
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t choice = random.Below(10);
    if (choice < mix.add) {
      add();
    } else if (choice < mix.add + mix.cancel && !expected.empty()) {
      const auto any =
          std::next(expected.begin(), static_cast<std::ptrdiff_t>(random.Below(expected.size())));
      queue.Cancel(any->second);
      stale.push_back(any->second);
      expected.erase(any);
    } else if (choice < 9 && !expected.empty()) {
      queue.Take()();
      ASSERT_EQ(ran, expected.begin()->first.second);
      stale.push_back(expected.begin()->second);
      expected.erase(expected.begin());
    } else if (!stale.empty()) {
      queue.Cancel(stale[random.Below(stale.size())]);  // no effect
    }
    ASSERT_EQ(queue.size(), expected.size());
    ASSERT_LE(queue.entries(), 2 * expected.size());
    ASSERT_EQ(queue.empty(), expected.empty());
    if (expected.empty()) continue;
    ASSERT_EQ(queue.next(), expected.begin()->first.first);
  }
}

TEST(EventQueue, EventsHaveTheOrderOfTimeAndAdditionUnderRandomOperations) {
  const Mix mixes[] = {{.add = 5, .cancel = 1, .events_at_first = 0},
                       {.add = 4, .cancel = 4, .events_at_first = 300},   // most are cancelled
                       {.add = 2, .cancel = 2, .events_at_first = 300}};  // runs empty
  for (const Mix& mix : mixes) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) CompareWithMap(mix, seed);
  }
}

// Pods end in another order than they began, and most that are preempted end long before.
TEST(EventQueue, CancelledEventsAreNotKeptUntilTheirTime) {
  EventQueue queue;
  const auto token = std::make_shared<int>(0);
  queue.Add(MonoTime(std::chrono::hours(1)), [] {});
  for (int i = 0; i < 100; ++i) {
    const auto id = queue.Add(MonoTime(std::chrono::hours(2)), [token] {});
    queue.Cancel(id);
    ASSERT_EQ(token.use_count(), 1) << i;
  }
  EXPECT_EQ(queue.size(), 1U);
}

TEST(EventQueue, TheDestructorOfACancelledEventMayCancelAnother) {
  EventQueue queue;
  struct Canceller {
    EventQueue* queue;
    EventQueue::Id id;
    ~Canceller() { queue->Cancel(id); }
  };
  std::vector<EventQueue::Id> ids;
  for (int i = 0; i < 11; ++i) ids.push_back(queue.Add(MonoTime(std::chrono::milliseconds(i)), [] {}));
  const auto owner = [&](int time, EventQueue::Id other) {
    return queue.Add(MonoTime(std::chrono::milliseconds(time)),
                     [held = std::make_unique<Canceller>(&queue, other)] {});
  };
  const EventQueue::Id first = owner(20, ids[10]);
  owner(30, ids[9]);
  for (int i = 3; i < 9; ++i) queue.Cancel(ids[static_cast<std::size_t>(i)]);
  queue.Cancel(first);
  EXPECT_EQ(queue.size(), 5U);  // 0, 1, 2, 9 and the second owner

  queue.Clear();
  EXPECT_TRUE(queue.empty());
  queue.Cancel(ids[0]);  // no effect
  queue.Add(MonoTime(std::chrono::milliseconds(1)), [] {});
  EXPECT_EQ(queue.size(), 1U);
}

}  // namespace
}  // namespace berth::simulation
