#include "simulation/event_queue.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/random.hpp"

namespace berth::simulation {
namespace {

// Random operations, compared with an ordered map.
TEST(EventQueue, EventsHaveTheOrderOfTimeAndAdditionUnderRandomOperations) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    EventQueue queue;
    std::map<std::pair<MonoTime, std::uint64_t>, EventQueue::Id> expected;
    std::vector<EventQueue::Id> stale;
    std::uint64_t ran = 0, added = 0;
    for (int i = 0; i < 5000; ++i) {
      const std::uint64_t choice = random.Below(10);
      if (choice < 5) {
        const MonoTime time(std::chrono::milliseconds(10) * static_cast<int>(random.Below(50)));
        // The event reports its own number, which is the next one.
        const EventQueue::Id id = queue.Add(time, [&ran, number = ++added] { ran = number; });
        ASSERT_EQ(id.number, added);
        expected.emplace(std::pair(time, id.number), id);
      } else if (choice < 8 && !expected.empty()) {
        ASSERT_EQ(queue.next(), expected.begin()->first.first);
        queue.Take()();
        ASSERT_EQ(ran, expected.begin()->first.second) << "seed " << seed;
        stale.push_back(expected.begin()->second);
        expected.erase(expected.begin());
      } else if (choice == 8 && !expected.empty()) {
        const auto any =
            std::next(expected.begin(), static_cast<std::ptrdiff_t>(random.Below(expected.size())));
        queue.Cancel(any->second);
        expected.erase(any);
      } else if (!stale.empty()) {
        queue.Cancel(stale[random.Below(stale.size())]);  // no effect
      }
      ASSERT_EQ(queue.size(), expected.size()) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace berth::simulation
