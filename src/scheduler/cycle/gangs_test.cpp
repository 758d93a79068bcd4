// The plugin Gangs in a complete scheduler: groups of other projects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubernetes/api/external_groups.hpp"
#include "scheduler/cycle/fake_scheduler_environment.hpp"
#include "testing/builders.hpp"

namespace berth::cycle {
namespace {

using berth::testing::Amounts;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

config::SchedulerConfig GangsConfig(const std::string& profile) {
  const runtime::Registry registry = assembly::InTreePlugins();
  config::ParseOptions options;
  options.codecs = &registry.codecs();
  return config::ParseSchedulerConfig(
             "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n" +
                 profile,
             options)
      .value();
}

constexpr const char* kGangs = R"(
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [{name: Gangs}]}}
  pluginConfig:
  - name: Gangs
    args: {sources: [Coscheduling, Volcano, Job, Spark, Flink, Annotation], maxMembers: 6}
)";
constexpr const char* kCoscheduling = R"(
- schedulerName: default-scheduler
  plugins:
    multiPoint: {enabled: [{name: Coscheduling}]}
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
  pluginConfig:
  - name: Coscheduling
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: CoschedulingArgs
      permitWaitingTimeSeconds: 10
      podGroupBackoffSeconds: 0
)";

// A scheduler with groups of other projects.
struct GangsCluster : SchedulerEnvironment {
  explicit GangsCluster(const char* profile = kGangs) {
    Build(GangsConfig(profile), assembly::InTreePlugins());
    loop.sink().OnSynced();
  }

  // Nodes for one member each.
  void AddNodes(int count) {
    for (int i = 0; i < count; ++i, ++nodes) {
      auto node =
          std::make_shared<const api::Node>(MakeNode("n" + std::to_string(nodes)).Cpu("1").Memory("4Gi"));
      loop.sink().On(ports::Change<api::Node>{nullptr, node});
    }
  }
  template <class T>
  api::PodGroupPtr Add(T object) {
    object.metadata.ns = "default";
    auto group = api::ToPodGroup(object);
    loop.sink().On(ports::Change<api::PodGroup>{nullptr, group});
    return group;
  }
  api::PodGroupPtr AddPodGroup(const std::string& name, std::int32_t min_member,
                               const api::ResourceList& min_resources = {}) {
    api::CoschedulingPodGroup group;
    group.metadata.name = name;
    group.min_member = min_member;
    group.min_resources = min_resources;
    return Add(group);
  }
  // A pod that needs more than half of a node.
  api::PodPtr AddPod(PodBuilder pod) {
    const api::PodPtr shared = pod.Uid(pod.raw().metadata.name).Cpu("600m").Share();
    loop.sink().On(ports::Change<api::Pod>{nullptr, shared});
    return shared;
  }
  static PodBuilder InGroup(const std::string& pod, const std::string& group) {
    return MakePod(pod).Label("scheduling.x-k8s.io/pod-group", group);
  }
  static PodBuilder Annotated(const std::string& pod,
                              std::vector<std::pair<std::string, std::string>> annotations) {
    PodBuilder builder = MakePod(pod);
    auto& all = builder.raw().metadata.annotations.emplace();
    for (auto& [key, value] : annotations) all.Set(std::move(key), std::move(value));
    return builder;
  }
  void AddMembers(const std::string& group, std::initializer_list<const char*> names) {
    for (const auto* name : names) AddPod(InGroup(name, group));
  }
  std::vector<std::string> Bound() const {
    std::vector<std::string> bound;
    for (const ports::Binding& binding : api.bindings) bound.push_back(binding.name);
    return bound;
  }
  std::vector<std::string> Notes() const {
    std::vector<std::string> notes;
    for (const ports::Event& event : events.events) {
      if (event.reason == "FailedScheduling") notes.push_back(event.note);
    }
    return notes;
  }

  int nodes = 0;
};

class GangsTest : public ::testing::Test, protected GangsCluster {
 protected:
  using GangsCluster::GangsCluster;
  GangsTest() = default;
};

TEST_F(GangsTest, AGroupIsBoundWhenEnoughMembersExistAndFit) {
  AddNodes(3);
  AddPodGroup("g", 3);
  AddMembers("g", {"a", "b"});
  Settle();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_EQ(scheduler->queue().sizes().gated, 2U);
  AddMembers("g", {"c"});
  Settle();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b", "c"));
  EXPECT_THAT(api.group_patches, IsEmpty()) << "another controller writes the status";
}

TEST_F(GangsTest, AGroupThatDoesNotFitHoldsNothing) {
  AddNodes(2);
  AddPodGroup("g", 3);
  AddMembers("g", {"a", "b", "c"});
  Settle();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_EQ(engine->cache().assumed_count(), 0U);
  AddPod(MakePod("single"));
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("single"));
  EXPECT_THAT(api.group_patches, IsEmpty());
  AddNodes(2);
  Wait(std::chrono::seconds(30));
  EXPECT_THAT(Bound(), SizeIs(4));
}

TEST_F(GangsTest, TwoGroupsThatDoNotFitTogetherDoNotBlockEachOther) {
  AddNodes(3);
  AddPodGroup("x", 2);
  AddPodGroup("y", 2);
  for (const auto* name : {"1", "2"}) {
    AddPod(InGroup(std::string("x") + name, "x"));
    AddPod(InGroup(std::string("y") + name, "y"));
  }
  Settle();
  EXPECT_THAT(Bound(), UnorderedElementsAre("x1", "x2"));
}

TEST_F(GangsTest, MembersWaitForTheirGroup) {
  AddNodes(2);
  AddMembers("g", {"a", "b"});
  Settle();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_EQ(scheduler->queue().sizes().incomplete, 2U);
  AddPodGroup("g", 2);
  Settle();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b"));
}

TEST_F(GangsTest, APodOfAnotherNamespaceIsNoMember) {
  AddNodes(3);
  AddPodGroup("g", 2);
  AddMembers("g", {"a"});
  AddPod(InGroup("b", "g").Namespace("other"));
  Settle();
  EXPECT_THAT(Bound(), IsEmpty());
}

TEST_F(GangsTest, AnUpdatedMinMemberIsFollowed) {
  AddNodes(2);
  const auto before = AddPodGroup("g", 3);
  AddMembers("g", {"a", "b"});
  Settle();
  EXPECT_THAT(Bound(), IsEmpty());
  auto after = std::make_shared<api::PodGroup>(*before);
  after->gang->min_count = 2;
  loop.sink().On(ports::Change<api::PodGroup>{before, after});
  Settle();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b"));
}

TEST_F(GangsTest, MinResourcesMustBeFree) {
  struct Case {
    std::string name;
    api::ResourceList wanted;
    std::string missing;  // empty: the group is bound
  };
  for (const Case& c : std::initializer_list<Case>{
           {"as much as is free", Amounts({{"cpu", "3"}, {"memory", "12Gi"}, {"pods", "330"}}), ""},
           {"more cpu", Amounts({{"cpu", "3500m"}}), "cpu: 3500m (free: 3000m)"},
           {"more pods", Amounts({{"pods", "331"}}), "pods: 331 (free: 330)"},
           {"a resource that no node has", Amounts({{"example.com/gpu", "1"}}),
            "example.com/gpu: 1 (free: 0)"}}) {
    SCOPED_TRACE(c.name);
    GangsCluster one;
    one.AddNodes(3);
    one.AddPodGroup("g", 2, c.wanted);
    one.AddMembers("g", {"a", "b"});
    one.Settle();
    EXPECT_THAT(one.Bound(), SizeIs(c.missing.empty() ? 2 : 0));
    if (!c.missing.empty()) {
      ASSERT_FALSE(one.Notes().empty());
      EXPECT_THAT(one.Notes().front(), HasSubstr("minResources are not free: " + c.missing));
    }
  }
}

TEST_F(GangsTest, AGroupWithoutItsMinResourcesEvictsNothing) {
  AddNodes(2);
  loop.sink().On(
      ports::Change<api::Pod>{nullptr, MakePod("low").Uid("low").Cpu("600m").OnNode("n0").Share()});
  AddPodGroup("g", 2, Amounts({{"cpu", "2"}}));
  AddPod(InGroup("a", "g").Priority(10));
  AddPod(InGroup("b", "g").Priority(10));
  Settle();
  EXPECT_THAT(api.deletions, IsEmpty());
  EXPECT_THAT(Bound(), IsEmpty());
}

TEST_F(GangsTest, WhatMembersUseCountsAsFreeForTheirGroup) {
  AddNodes(2);
  AddPodGroup("g", 1, Amounts({{"cpu", "2"}}));
  AddMembers("g", {"a"});
  Settle();
  AddMembers("g", {"b"});
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("a", "b"));
}

TEST_F(GangsTest, MembersMayDifferInPriorityAndTheHighestCounts) {
  AddNodes(2);
  AddPodGroup("g", 2);
  AddPod(InGroup("a", "g").Priority(1));
  AddPod(InGroup("b", "g").Priority(100));
  AddPod(MakePod("single").Priority(50));
  Settle();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b")) << "the group comes before the single pod";
}

TEST_F(GangsTest, AGroupEvictsPodsOfLowerPriority) {
  AddNodes(2);
  const api::PodPtr victim = MakePod("victim").Uid("victim").Cpu("600m").OnNode("n0").Share();
  loop.sink().On(ports::Change<api::Pod>{nullptr, victim});
  AddPodGroup("g", 2);
  AddPod(InGroup("a", "g").Priority(10));
  AddPod(InGroup("b", "g").Priority(10));
  Settle();
  ASSERT_THAT(api.deletions, SizeIs(1));
  EXPECT_EQ(api.deletions.front().name, "victim");
  EXPECT_THAT(Bound(), IsEmpty());
  loop.sink().On(ports::Change<api::Pod>{victim, nullptr});
  Wait(std::chrono::seconds(30));
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b"));
}

// Labels can change; the queue and the state of groups must not disagree.
TEST_F(GangsTest, APodStaysInTheGroupThatItHadWhenItArrived) {
  AddNodes(3);
  AddPodGroup("g", 2);
  AddPodGroup("h", 1);
  const auto a = AddPod(InGroup("a", "g"));
  const auto single = AddPod(MakePod("single").Gate("later"));
  Settle();
  loop.sink().On(ports::Change<api::Pod>{a, InGroup("a", "h").Uid("a").Cpu("600m").Share()});
  loop.sink().On(ports::Change<api::Pod>{single, InGroup("single", "h").Uid("single").Share()});
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("single")) << "a waits for a second member of g";
  AddMembers("g", {"b"});
  Settle();
  EXPECT_THAT(Bound(), UnorderedElementsAre("single", "a", "b"));
  EXPECT_EQ(engine->groups().Find("default/podgroups.scheduling.x-k8s.io/g")->scheduled, 2U);
  EXPECT_TRUE(engine->groups().Find("default/podgroups.scheduling.x-k8s.io/h")->members.empty());
}

TEST_F(GangsTest, AGroupWithTooManyMembersWaits) {
  AddNodes(8);
  AddPodGroup("g", 1);
  for (const auto* name : {"a", "b", "c", "d", "e", "f", "g"}) AddPod(InGroup(name, "g").Gate("later"));
  const auto pod = [](const char* name) { return InGroup(name, "g").Uid(name).Cpu("600m"); };
  for (const auto* name : {"a", "b", "c", "d", "e", "f", "g"})
    loop.sink().On(ports::Change<api::Pod>{pod(name).Gate("later").Share(), pod(name).Share()});
  Settle();
  EXPECT_THAT(Bound(), IsEmpty()) << "maxMembers is 6";
  loop.sink().On(ports::Change<api::Pod>{pod("g").Share(), nullptr});
  Wait(std::chrono::minutes(6));
  EXPECT_THAT(Bound(), SizeIs(6));
}

TEST_F(GangsTest, EachTaskOfAVolcanoGroupNeedsItsMinimum) {
  AddNodes(2);
  api::VolcanoPodGroup group;
  group.metadata.name = "mpi";
  group.min_member = 2;
  group.min_task_member = {{"launcher", 1}, {"worker", 1}};
  Add(group);
  const auto member = [](const std::string& name, const std::string& task) {
    return Annotated(name, {{"scheduling.k8s.io/group-name", "mpi"}, {"volcano.sh/task-spec", task}});
  };
  AddPod(member("w1", "worker"));
  AddPod(member("w2", "worker"));
  Settle();
  EXPECT_THAT(Bound(), IsEmpty()) << "there is no launcher";
  Wait(std::chrono::seconds(1));
  AddPod(member("l", "launcher"));
  Settle();
  EXPECT_THAT(Bound(), IsEmpty()) << "the workers take both nodes";
  AddNodes(1);
  Wait(std::chrono::seconds(30));
  EXPECT_THAT(Bound(), UnorderedElementsAre("l", "w1", "w2"));
}

TEST_F(GangsTest, PodsOfAJobStartTogether) {
  AddNodes(3);
  api::Job job;
  job.metadata.name = "train";
  job.parallelism = 3;
  Add(job);
  const auto member = [](const std::string& name, const std::string& version = "batch/v1") {
    PodBuilder pod = MakePod(name);
    pod.raw().metadata.controller.emplace() = {version, "Job", "train", "uid"};
    return pod;
  };
  AddPod(member("a"));
  AddPod(member("b"));
  AddPod(member("other", "example.com/v1"));
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("other")) << "a Job of another API is not a group";
  loop.sink().On(ports::Change<api::Pod>{MakePod("other").Uid("other").OnNode("n0").Share(), nullptr});
  AddPod(member("c"));
  Settle();
  EXPECT_THAT(Bound(), UnorderedElementsAre("other", "a", "b", "c"));
}

TEST_F(GangsTest, GroupsWithoutAnObjectAreDescribedByTheirPods) {
  const std::string count = "scheduling.berth.dev/min-members";
  struct Case {
    std::string name;
    PodBuilder member;
    std::size_t bound;  // of two members when there is room for both
    std::size_t bound_alone;
  };
  const auto spark = [&](PodBuilder pod) {
    return pod.Label("spark-role", "executor").Label("spark-app-selector", "spark-1");
  };
  const auto flink = [&](PodBuilder pod, const std::string& component) {
    return pod.Label("type", "flink-native-kubernetes").Label("component", component).Label("app", "f");
  };
  for (const Case& c : std::initializer_list<Case>{
           {"annotation", Annotated("p", {{"scheduling.berth.dev/group", "g"}, {count, "2"}}), 2, 0},
           {"annotation without number", Annotated("p", {{"scheduling.berth.dev/group", "g"}}), 0, 0},
           {"annotation with a wrong number",
            Annotated("p", {{"scheduling.berth.dev/group", "g"}, {count, "two"}}), 0, 0},
           {"executors", spark(Annotated("p", {{count, "2"}})), 2, 0},
           {"executors without number", spark(MakePod("p")), 2, 1},
           {"a driver", MakePod("p").Label("spark-role", "driver").Label("spark-app-selector", "spark-1"), 2,
            1},
           {"task managers", flink(Annotated("p", {{count, "2"}}), "taskmanager"), 2, 0},
           {"job managers", flink(Annotated("p", {{count, "2"}}), "jobmanager"), 2, 1},
           {"another scheduler", Annotated("p", {{"scheduling.berth.dev/group", "g"}}).Scheduler("x"), 0,
            0}}) {
    SCOPED_TRACE(c.name);
    GangsCluster one;
    one.AddNodes(2);
    const auto add = [&](const std::string& name) {
      PodBuilder pod = c.member;
      pod.raw().metadata.name = name;
      return one.AddPod(pod);
    };
    const auto first = add("p1");
    one.Settle();
    EXPECT_THAT(one.Bound(), SizeIs(c.bound_alone));
    const auto second = add("p2");
    one.Settle();
    EXPECT_THAT(one.Bound(), SizeIs(c.bound));
    one.loop.sink().On(ports::Change<api::Pod>{first, nullptr});
    one.loop.sink().On(ports::Change<api::Pod>{second, nullptr});
    one.Settle();
    EXPECT_EQ(one.engine->groups().size(), 0U) << "a described group ends with its last member";
  }
}

class CoschedulingTest : public GangsTest {
 protected:
  CoschedulingTest() : GangsTest(kCoscheduling) {}
};

TEST_F(CoschedulingTest, AConfigurationOfSchedulerPluginsWorksAsItIs) {
  AddNodes(3);
  AddPodGroup("g", 2);
  AddMembers("g", {"a"});
  AddPod(MakePod("single"));
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("single"));
  AddMembers("g", {"b"});
  Settle();
  EXPECT_THAT(Bound(), UnorderedElementsAre("single", "a", "b"));
}

TEST_F(CoschedulingTest, ARejectedPodKeepsItsPlaceInTheOrder) {
  AddNodes(1);
  const api::PodPtr running = MakePod("running").Uid("running").Cpu("600m").OnNode("n0").Share();
  loop.sink().On(ports::Change<api::Pod>{nullptr, running});
  AddPod(MakePod("old"));
  Settle();
  Wait(std::chrono::seconds(20));
  const api::PodPtr gated = AddPod(MakePod("young").Gate("later"));
  Settle();
  loop.sink().On(ports::Change<api::Pod>{gated, MakePod("young").Uid("young").Cpu("600m").Share()});
  loop.sink().On(ports::Change<api::Pod>{running, nullptr});
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("old"));
}

}  // namespace
}  // namespace berth::cycle
