#include "scheduler/cluster/cluster_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/cluster/row_log.hpp"
#include "testing/builders.hpp"

namespace berth::cluster {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ClusterCacheTest : public ::testing::Test {
 protected:
  Row RowOf(const std::string& node) { return cache.nodes().Find(node); }
  std::int64_t Cpu(const std::string& node) { return cache.nodes().requested(kCpu)[RowOf(node)]; }
  bool Assume(const PodBuilder& pod, const std::string& node) {
    return cache.Assume(PreparePod(pod.Share(), words), RowOf(node));
  }
  std::vector<std::string> Order() {
    std::vector<std::string> names;
    for (const Row row : cache.VisitingOrder()) names.push_back(cache.nodes().name(row));
    return names;
  }
  SymbolTable words;
  ClusterState cache{words};
};

TEST_F(ClusterCacheTest, AnAssumedPodCountsImmediatelyAndIsConfirmedByItsBinding) {
  cache.AddNode(MakeNode("n").Share());
  EXPECT_TRUE(Assume(MakePod("p").Cpu("1"), "n"));
  EXPECT_EQ(Cpu("n"), 1000);
  EXPECT_TRUE(cache.IsAssumed("uid-of-p"));
  EXPECT_EQ(cache.assumed_count(), 1U);
  cache.AddPod(MakePod("p").Cpu("1").OnNode("n"));
  EXPECT_EQ(Cpu("n"), 1000);
  EXPECT_FALSE(cache.IsAssumed("uid-of-p"));
  EXPECT_EQ(cache.assumed_count(), 0U);
  EXPECT_EQ(cache.pod_count(), 1U);
}

TEST_F(ClusterCacheTest, ABindingAsAssumedChangesNoRow) {
  cache.AddNode(MakeNode("n").Share());
  Assume(MakePod("same").Cpu("1"), "n");
  Assume(MakePod("other").Cpu("1"), "n");
  const std::uint64_t before = cache.nodes().pod_changes().count();
  cache.AddPod(MakePod("same").Cpu("1").OnNode("n"));
  EXPECT_EQ(cache.nodes().pod_changes().count(), before);
  EXPECT_EQ(cache.FindPod("uid-of-same")->spec.node_name, "n");
  cache.AddPod(MakePod("other").Cpu("1").Label("a", "b").OnNode("n"));
  EXPECT_GT(cache.nodes().pod_changes().count(), before) << "a label has changed";
  Assume(MakePod("claiming").Cpu("1"), "n");
  const std::uint64_t claiming = cache.nodes().pod_changes().count();
  PodBuilder with_claim = MakePod("claiming").Cpu("1").OnNode("n");
  with_claim.raw().status.resource_claim_statuses = {{"gpu", "gpu-claim"}};
  cache.AddPod(with_claim.Share());
  EXPECT_GT(cache.nodes().pod_changes().count(), claiming) << "the name of a claim has come";
  EXPECT_EQ(cache.assumed_count(), 0U);
  EXPECT_EQ(Cpu("n"), 3000);
}

TEST_F(ClusterCacheTest, AnUpdateOfAPodTakesItsPortsAgain) {
  const auto has_port = [&] {
    RowSet conflicts(cache.nodes().rows());
    cache.nodes().AddPortConflicts({words.FindPort("TCP", 80), kAnyAddress}, conflicts);
    return conflicts.Has(RowOf("n"));
  };
  cache.AddNode(MakeNode("n").Share());
  cache.AddPod(MakePod("runs").HostPort(80).OnNode("n"));
  cache.AddPod(MakePod("fails").HostPort(80).OnNode("n"));
  cache.RemovePod("uid-of-fails");
  EXPECT_FALSE(has_port());
  const std::uint64_t before = cache.nodes().pod_changes().count();
  cache.AddPod(MakePod("runs").HostPort(80).OnNode("n"));
  EXPECT_TRUE(has_port());
  EXPECT_GT(cache.nodes().pod_changes().count(), before);
  const std::uint64_t taken = cache.nodes().pod_changes().count();
  cache.AddPod(MakePod("runs").HostPort(80).OnNode("n"));
  EXPECT_EQ(cache.nodes().pod_changes().count(), taken) << "the port is in use already";
}

struct PodUpdate {
  std::string what;
  std::function<void(api::Pod&)> change;
  bool changes_row;
};
std::ostream& operator<<(std::ostream& out, const PodUpdate& update) { return out << update.what; }

class UpdatesOfBoundPods : public ClusterCacheTest, public ::testing::WithParamInterface<PodUpdate> {};

TEST_P(UpdatesOfBoundPods, ChangeTheRowIfPluginsReadTheDifference) {
  cache.AddNode(MakeNode("n").Share());
  cache.AddNode(MakeNode("m").Share());
  PodBuilder pod = MakePod("p").Cpu("1").OnNode("n");
  cache.AddPod(pod.Share());
  const std::uint64_t before = cache.nodes().pod_changes().count();
  GetParam().change(pod.raw());
  const api::PodPtr updated = pod.Share();
  cache.AddPod(updated);
  EXPECT_EQ(cache.nodes().pod_changes().count() != before, GetParam().changes_row);
  EXPECT_EQ(cache.FindPod("uid-of-p"), updated);
  EXPECT_EQ(cache.pod_count(), 1U);
  EXPECT_TRUE(cache.RemovePod("uid-of-p"));
  EXPECT_EQ(Cpu("n"), 0);
  EXPECT_EQ(Cpu("m"), 0);
}

std::function<void(api::Pod&)> Condition(const std::string& type) {
  return [type](api::Pod& pod) {
    pod.status.conditions.push_back(
        {.type = type, .status = "True", .reason = {}, .message = {}, .last_transition_time = {}});
  };
}

INSTANTIATE_TEST_SUITE_P(
    Table, UpdatesOfBoundPods,
    ::testing::Values(
        PodUpdate{"nothing", [](api::Pod&) {}, false},
        PodUpdate{"the phase", [](api::Pod& pod) { pod.status.phase = "Running"; }, false},
        PodUpdate{"readiness", Condition("Ready"), false},
        PodUpdate{"the time of its binding", [](api::Pod& pod) { pod.status.scheduled_time = 1; }, false},
        PodUpdate{"the start time", [](api::Pod& pod) { pod.status.start_time = 1; }, false},
        PodUpdate{"an eviction", Condition("DisruptionTarget"), true},
        PodUpdate{"a resize that waits", Condition("PodResizePending"), true},
        PodUpdate{"a claim's name",
                  [](api::Pod& pod) { pod.status.resource_claim_statuses = {{"gpu", "gpu-claim"}}; }, true},
        PodUpdate{"a label", [](api::Pod& pod) { pod.metadata.labels.Set("a", "b"); }, true},
        PodUpdate{"its deletion", [](api::Pod& pod) { pod.metadata.deletion_timestamp = "t"; }, true},
        PodUpdate{"its requests",
                  [](api::Pod& pod) {
                    pod.spec.containers.back().resources.requests["cpu"] = api::Quantity::FromInteger(2);
                  },
                  true},
        PodUpdate{"its node", [](api::Pod& pod) { pod.spec.node_name = "m"; }, true}));

struct StartObserver final : PodObserver {
  void OnPodAdded(Row, const PlacedPod&) override { ++others; }
  void OnPodRemoved(Row, const PlacedPod&) override { ++others; }
  void OnPodStarted(Row, const PlacedPod& pod) override { starts.push_back(pod.pod->status.start_time); }
  std::vector<std::int64_t> starts;
  int others = 0;
};

TEST_F(ClusterCacheTest, OfAStartTimeOnlyObserversAndCopiesAreTold) {
  cache.AddNode(MakeNode("n").Share());
  Assume(MakePod("p").Cpu("1"), "n");
  StartObserver observer;
  cache.nodes().Observe(observer);
  EXPECT_EQ(std::exchange(observer.others, 0), 1) << "the pod was found";
  const std::uint64_t changes = cache.nodes().pod_changes().count();
  PodBuilder pod = MakePod("p").Cpu("1").OnNode("n");
  cache.AddPod(pod.Share());
  EXPECT_EQ(cache.nodes().start_changes().count(), 0U) << "it is bound";
  pod.raw().status.start_time = 7;
  cache.AddPod(pod.Share());
  pod.raw().status.phase = "Running";
  cache.AddPod(pod.Share());
  EXPECT_THAT(observer.starts, ElementsAre(7));
  EXPECT_EQ(observer.others, 0);
  EXPECT_EQ(cache.nodes().pod_changes().count(), changes);
  std::vector<Row> started;
  EXPECT_TRUE(cache.nodes().start_changes().ForEachSince(0, [&](Row row) { started.push_back(row); }));
  EXPECT_THAT(started, ElementsAre(RowOf("n")));
  cache.nodes().Forget(observer);
}

TEST_F(ClusterCacheTest, ForgetRevertsOnlyAssumedPods) {
  cache.AddNode(MakeNode("n").Share());
  Assume(MakePod("p").Cpu("1"), "n");
  EXPECT_TRUE(cache.Forget("uid-of-p"));
  EXPECT_EQ(Cpu("n"), 0);
  EXPECT_FALSE(cache.Contains("uid-of-p"));
  EXPECT_FALSE(cache.Forget("uid-of-p"));
  cache.AddPod(MakePod("p").Cpu("1").OnNode("n"));
  EXPECT_FALSE(cache.Forget("uid-of-p")) << "its bind was seen";
  EXPECT_EQ(Cpu("n"), 1000);
}

TEST_F(ClusterCacheTest, AnExistingPodCannotBeAssumed) {
  cache.AddNode(MakeNode("n").Share());
  EXPECT_TRUE(Assume(MakePod("p").Cpu("1"), "n"));
  EXPECT_FALSE(Assume(MakePod("p").Cpu("1"), "n"));
  EXPECT_EQ(Cpu("n"), 1000);
}

TEST_F(ClusterCacheTest, APodBoundToAnotherNodeMoves) {
  cache.AddNode(MakeNode("a").Share());
  cache.AddNode(MakeNode("b").Share());
  Assume(MakePod("p").Cpu("1"), "a");
  cache.AddPod(MakePod("p").Cpu("2").OnNode("b"));
  EXPECT_EQ(Cpu("a"), 0);
  EXPECT_EQ(Cpu("b"), 2000);
}

TEST_F(ClusterCacheTest, RemovingAnAssumedOrBoundPodRestoresAllSums) {
  cache.AddNode(MakeNode("n").Share());
  Assume(MakePod("p").Cpu("1"), "n");
  cache.AddPod(MakePod("q").Cpu("1").OnNode("n"));
  EXPECT_TRUE(cache.RemovePod("uid-of-p"));
  EXPECT_TRUE(cache.RemovePod("uid-of-q"));
  EXPECT_FALSE(cache.RemovePod("uid-of-q"));
  EXPECT_EQ(Cpu("n"), 0);
  EXPECT_EQ(cache.assumed_count(), 0U);
}

TEST_F(ClusterCacheTest, APodMayBeAddedBeforeItsNode) {
  cache.AddPod(MakePod("p").Cpu("1").OnNode("late"));
  EXPECT_THAT(Order(), IsEmpty()) << "a node that was only spoken of is none";
  cache.AddNode(MakeNode("late").Share());
  EXPECT_EQ(Cpu("late"), 1000);
}

TEST_F(ClusterCacheTest, PodsAreKeptWhenTheirNodeIsRemoved) {
  cache.AddNode(MakeNode("n").Share());
  cache.AddPod(MakePod("p").Cpu("1").OnNode("n"));
  cache.AddPod(MakePod("q").Cpu("2").OnNode("n"));
  cache.RemoveNode("n");
  EXPECT_TRUE(cache.Contains("uid-of-p"));
  EXPECT_TRUE(cache.RemovePod("uid-of-q"));
  cache.AddNode(MakeNode("n").Share());
  EXPECT_EQ(Cpu("n"), 1000);
}

TEST_F(ClusterCacheTest, TheGenerationChangesWhenNodesAreAddedOrRemoved) {
  const auto start = cache.node_generation();
  cache.AddNode(MakeNode("n").Share());
  const auto added = cache.node_generation();
  EXPECT_NE(added, start);
  cache.UpdateNode(MakeNode("n").Cpu("1").Share());
  cache.AddNode(MakeNode("n").Cpu("2").Share());
  EXPECT_EQ(cache.node_generation(), added);
  EXPECT_EQ(cache.nodes().allocatable(kCpu)[RowOf("n")], 2000);
  cache.RemoveNode("n");
  EXPECT_NE(cache.node_generation(), added);
  cache.RemoveNode("n");
}

TEST_F(ClusterCacheTest, AnUpdateOfAnUnknownNodeAddsIt) {
  cache.UpdateNode(MakeNode("n").Share());
  EXPECT_THAT(Order(), ElementsAre("n"));
}

// --- visiting order ---

TEST_F(ClusterCacheTest, ZonesAlternateInTheOrderOfTheirFirstNode) {
  for (const auto* name : {"a1", "a2", "b1", "a3", "c1", "b2"})
    cache.AddNode(MakeNode(name).Zone(std::string(1, name[0])).Share());
  EXPECT_THAT(Order(), ElementsAre("a1", "b1", "c1", "a2", "b2", "a3"));
}

TEST_F(ClusterCacheTest, ANodeThatChangesItsZoneIsLastInTheNewZone) {
  for (const auto* name : {"a1", "a2", "b1"})
    cache.AddNode(MakeNode(name).Zone(std::string(1, name[0])).Share());
  cache.UpdateNode(MakeNode("a1").Zone("b").Share());
  EXPECT_THAT(Order(), ElementsAre("a2", "b1", "a1"));
  cache.UpdateNode(MakeNode("a2").Zone("a").Cpu("1").Share());
  EXPECT_THAT(Order(), ElementsAre("a2", "b1", "a1")) << "the zone is the same";
}

TEST_F(ClusterCacheTest, AnEmptyZoneIsRemoved) {
  for (const auto* name : {"a1", "b1"}) cache.AddNode(MakeNode(name).Zone(std::string(1, name[0])).Share());
  cache.RemoveNode("a1");
  cache.AddNode(MakeNode("a1").Zone("a").Share());
  EXPECT_THAT(Order(), ElementsAre("b1", "a1"));
}

TEST_F(ClusterCacheTest, DeprecatedZoneLabelsTakePrecedence) {
  cache.AddNode(MakeNode("a").Label("failure-domain.beta.kubernetes.io/zone", "x").Zone("y").Share());
  cache.AddNode(MakeNode("b").Zone("y").Share());
  cache.AddNode(MakeNode("c").Zone("x").Share());
  cache.AddNode(MakeNode("d").Zone("x").Label("topology.kubernetes.io/region", "r").Share());
  EXPECT_THAT(Order(), ElementsAre("a", "b", "d", "c"));
}

// --- random sequences of changes ---

// The expected sums of a node, counted from the pods in the cache.
struct Known {
  std::string node;
  std::int64_t cpu;
  bool assumed;
};

TEST(ClusterCacheProperty, SumsEqualARecountAfterAnySequenceOfChanges) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    SymbolTable words;
    ClusterState cache(words);
    std::map<std::string, Known> pods;
    std::map<std::string, std::int64_t> nodes;  // name, allocatable cpu
    const auto node_name = [&] { return "n" + std::to_string(random.Below(6)); };
    for (int step = 0; step < 400; ++step) {
      const std::string node = node_name();
      const std::string pod = "p" + std::to_string(random.Below(20));
      const auto cpu = static_cast<std::int64_t>(random.Below(2000));
      const auto builder = MakePod(pod).Uid(pod).Cpu(std::to_string(cpu) + "m");
      switch (random.Below(7)) {
        case 0: {
          nodes[node] = cpu;
          const auto node_builder =
              MakeNode(node).Cpu(std::to_string(cpu) + "m").Zone(std::to_string(random.Below(3)));
          random.Below(2) == 0 ? cache.AddNode(node_builder.Share()) : cache.UpdateNode(node_builder.Share());
          break;
        }
        case 1:
          if (random.Below(3) != 0) break;
          nodes.erase(node);
          cache.RemoveNode(node);
          break;
        case 2:
        case 3:
          pods.insert_or_assign(pod, Known{node, cpu, false});
          cache.AddPod(PodBuilder(builder).OnNode(node));
          break;
        case 4:
          if (nodes.contains(node)) {
            const bool assumed = cache.Assume(PreparePod(builder.Share(), words), cache.nodes().Find(node));
            ASSERT_EQ(assumed, pods.try_emplace(pod, Known{node, cpu, true}).second);
          }
          break;
        case 5:
          ASSERT_EQ(cache.RemovePod(pod), pods.erase(pod) == 1);
          break;
        case 6: {
          const bool was_assumed = pods.contains(pod) && pods.at(pod).assumed;
          ASSERT_EQ(cache.Forget(pod), was_assumed);
          if (was_assumed) pods.erase(pod);
          break;
        }
      }
      SCOPED_TRACE("seed " + std::to_string(seed) + " step " + std::to_string(step));
      ASSERT_EQ(cache.pod_count(), pods.size());
      ASSERT_EQ(cache.assumed_count(), static_cast<std::size_t>(std::ranges::count_if(
                                           pods, [](const auto& p) { return p.second.assumed; })));
      ASSERT_EQ(cache.nodes().node_count(), nodes.size());
      ASSERT_EQ(cache.VisitingOrder().size(), nodes.size());
      for (const auto& [name, allocatable] : nodes) {
        const Row row = cache.nodes().Find(name);
        ASSERT_NE(row, kNoRow);
        std::int64_t used = 0;
        std::int64_t count = 0;
        for (const auto& [uid, known] : pods) {
          if (known.node != name) continue;
          used += known.cpu;
          ++count;
        }
        ASSERT_EQ(cache.nodes().allocatable(kCpu)[row], allocatable);
        ASSERT_EQ(cache.nodes().requested(kCpu)[row], used);
        ASSERT_EQ(cache.nodes().pod_count()[row], count);
      }
    }
  }
}

}  // namespace
}  // namespace berth::cluster
