#include "sandbox/store/store.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "sandbox/store/guard.hpp"
#include "sandbox/store/time_after.hpp"

namespace berth::sandbox {
namespace {

using testing::ElementsAre;

ObjectPtr PutPod(Store& store, std::string_view ns, std::string_view name, std::string_view node = "") {
  Document document;
  document.root()["metadata"] =
      json::object{{"name", name}, {"namespace", ns}, {"labels", json::object{{"app", name}}}};
  document.root()["spec"] = json::object{{"nodeName", node}};
  return store.Put(Known().pods, document.root());
}

std::vector<std::string> KeysAt(const Store& store, Version version, std::string_view prefix = "",
                                std::string_view after = "") {
  std::vector<std::string> keys;
  store.ForEachAt(Known().pods, version, prefix, after, [&](const ObjectPtr& object) {
    keys.push_back(object->key + "@" + object->fields[0]);
    return true;
  });
  return keys;
}

TEST(Store, EveryWriteHasItsOwnVersion) {
  Store store(10);
  EXPECT_EQ(PutPod(store, "a", "x")->version, 1u);
  EXPECT_EQ(PutPod(store, "a", "x")->version, 2u);
  EXPECT_EQ(store.Remove(Known().pods, "a/x")->version, 3u);
  EXPECT_EQ(store.version(), 3u);
}

TEST(Store, ATextBeginsWithKindAndApiVersionAndContainsItsResourceVersion) {
  Store store(10);
  const auto pod = PutPod(store, "a", "x", "n1");
  EXPECT_EQ(pod->text,
            R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","namespace":"a","labels":{"app":"x"},)"
            R"("resourceVersion":"1"},"spec":{"nodeName":"n1"}})");
  EXPECT_EQ(*pod->Label("app"), "x");
  EXPECT_EQ(pod->Label("other"), nullptr);
}

TEST(Store, AnObserverThatThrowsDoesNotAffectTheWriteAndTheOtherObservers) {
  struct Throwing final : StoreObserver {
    void OnChange(const ResourceType&, const Change&) override { throw std::runtime_error("broken"); }
  } throwing;
  struct Counting final : StoreObserver {
    void OnChange(const ResourceType&, const Change&) override { ++changes; }
    int changes = 0;
  } counting;
  Store store(10);
  store.Observe(throwing);
  store.Observe(counting);
  PutPod(store, "a", "x");
  store.Remove(Known().pods, "a/x");
  EXPECT_EQ(counting.changes, 2);
  EXPECT_EQ(store.version(), 2u);
}

TEST(Guard, ATimerThatThrowsLeavesTheOthersInTheQueue) {
  ManualClock clock;
  TimerQueue timers(clock);
  int runs = 0;
  timers.After(Duration::zero(), [] { (void)json::value("text").as_int64(); });
  timers.After(Duration::zero(), [&] { ++runs; });
  RunTimersGuarded(timers);
  EXPECT_EQ(timers.Next(), clock.Now());
  RunTimersGuarded(timers);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(timers.size(), 0u);
}

TEST(Store, ReturnsPastVersions) {
  Store store(10);
  PutPod(store, "a", "x");            // 1
  PutPod(store, "a", "y");            // 2
  PutPod(store, "a", "x", "n1");      // 3
  PutPod(store, "a", "z");            // 4
  store.Remove(Known().pods, "a/y");  // 5
  EXPECT_THAT(KeysAt(store, 5), ElementsAre("a/x@n1", "a/z@"));
  EXPECT_THAT(KeysAt(store, 4), ElementsAre("a/x@n1", "a/y@", "a/z@"));
  EXPECT_THAT(KeysAt(store, 2), ElementsAre("a/x@", "a/y@"));
  EXPECT_THAT(KeysAt(store, 0), ElementsAre());
}

TEST(Store, VisitsOneNamespaceFromAKeyOn) {
  Store store(10);
  for (const std::string_view name : {"x", "y", "z"}) PutPod(store, "a", name);
  PutPod(store, "a-b", "w");
  PutPod(store, "b", "x");
  EXPECT_THAT(KeysAt(store, 5, "a/", "a/x"), ElementsAre("a/y@", "a/z@"));
  EXPECT_THAT(KeysAt(store, 5, "b/"), ElementsAre("b/x@"));
}

TEST(Store, DropsChangesBeyondTheWindow) {
  Store store(2);
  for (int i = 0; i < 4; ++i) PutPod(store, "a", "x");
  EXPECT_FALSE(store.HasVersion(Known().pods, 1));
  EXPECT_FALSE(store.Since(Known().pods, 1).has_value());
  ASSERT_TRUE(store.Since(Known().pods, 2).has_value());
  EXPECT_EQ(store.Since(Known().pods, 2)->size(), 2u);
  EXPECT_EQ(store.Since(Known().pods, 4)->size(), 0u);
}

TEST(Store, ACompactionForgetsAllChangesBeforeIt) {
  Store store(10);
  PutPod(store, "a", "x");
  PutPod(store, "a", "y");
  store.Compact();
  EXPECT_FALSE(store.Since(Known().pods, 1).has_value());
  EXPECT_FALSE(store.HasVersion(Known().nodes, 1)) << "of all resources";
  PutPod(store, "a", "z");
  ASSERT_TRUE(store.Since(Known().pods, 2).has_value());
  EXPECT_EQ(store.Since(Known().pods, 2)->size(), 1u);
  EXPECT_THAT(KeysAt(store, 2), ElementsAre("a/x@", "a/y@"));
}

TEST(Store, EachResourceHasItsOwnWindow) {
  Store store(2);
  PutPod(store, "a", "x");
  for (int i = 0; i < 5; ++i) {
    Document node;
    node.root()["metadata"] = json::object{{"name", "n"}};
    store.Put(Known().nodes, node.root());
  }
  EXPECT_EQ(store.Since(Known().pods, 0)->size(), 1u);
}

TEST(TimeAfter, EndsAtTheLastTime) {
  const WallTime now(std::chrono::hours(24 * 20000));
  EXPECT_EQ(TimeAfter(now, Duration(5)), now + Duration(5));
  EXPECT_EQ(TimeAfter(now, Duration(-5)), now);
  EXPECT_EQ(TimeAfter(now, Duration::max()), WallTime::max());
  EXPECT_EQ(TimeAfter(WallTime::max(), Duration::max()), WallTime::max());
  EXPECT_EQ(TimeAfter(WallTime::min(), Duration(5)), WallTime(Duration(5)));
}

TEST(TimeBetween, EndsAtTheLongestDuration) {
  const WallTime now(std::chrono::hours(24 * 20000));
  EXPECT_EQ(TimeBetween(now, now + Duration(5)), Duration(5));
  EXPECT_EQ(TimeBetween(now + Duration(5), now), Duration(-5));
  EXPECT_EQ(TimeBetween(WallTime::min(), now), Duration::max());
  EXPECT_EQ(TimeBetween(now, WallTime::min()), Duration::min());
  EXPECT_EQ(TimeBetween(WallTime::min(), WallTime::min()), Duration::zero());
}

}  // namespace
}  // namespace berth::sandbox
