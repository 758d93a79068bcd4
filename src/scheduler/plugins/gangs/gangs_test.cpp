#include "scheduler/plugins/gangs/gangs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/plugins/gangs/free_resources.hpp"
#include "scheduler/plugins/gangs/group_sources.hpp"
#include "testing/cluster.hpp"
#include "testing/waiting_member.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using berth::testing::WaitingMember;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST(GangsArguments, AreChecked) {
  struct Case {
    std::string args, error;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"{sources: [Job]}", ""},
           {"{}", "sources: Required value: at least one of \"Coscheduling\", \"Volcano\""},
           {"{sources: [Jobs]}", "sources[0]: Unsupported value: \"Jobs\""},
           {"{sources: [Jobs]}", "did you mean \"Job\"?"},
           {"{sources: [Job, Flink, Job]}", "sources[2]: Duplicate value: \"Job\""},
           {"{sources: [Job], maxMembers: 0}", "maxMembers: Invalid value: 0: must be from 1 to 100000"},
           {"{sources: [Job], permitWaitingTimeSeconds: 901}",
            "permitWaitingTimeSeconds: Invalid value: 901: must be from 1 to 900"},
           {"{source: [Job]}", "unknown field \"source\""}}) {
    Cluster cluster;
    const auto plugin = cluster.TryMake<Gangs>(c.args);
    EXPECT_EQ(plugin.has_value(), c.error.empty()) << c.args;
    if (!plugin) {
      EXPECT_THAT(plugin.error().message, HasSubstr(c.error));
    }
  }
}

TEST(CoschedulingArguments, AreThoseOfSchedulerPlugins) {
  struct Case {
    std::string args, error;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"{}", ""},
           {"{kind: CoschedulingArgs, permitWaitingTimeSeconds: 10, podGroupBackoffSeconds: 5}", ""},
           {"{permitWaitingTimeSeconds: -1}",
            "permitWaitingTimeSeconds: Invalid value: -1: must be greater than 0"},
           {"{podGroupBackoffSeconds: -1}",
            "podGroupBackoffSeconds: Invalid value: -1: must be greater than 0"}}) {
    Cluster cluster;
    const auto plugin = cluster.TryMake<Coscheduling>(c.args);
    EXPECT_EQ(plugin.has_value(), c.error.empty()) << c.args;
    if (!plugin) {
      EXPECT_THAT(plugin.error().message, HasSubstr(c.error));
    }
  }
}

TEST(Gangs, ReadsOnlyWhatItsSourcesNeed) {
  Cluster cluster;
  const auto plugin = cluster.Make<Gangs>("{sources: [Volcano, Job, Spark]}");
  EXPECT_THAT(cluster.handle().requested_resources,
              UnorderedElementsAre("podgroups.scheduling.volcano.sh", "jobs.batch"));
  EXPECT_THAT(cluster.handle().annotations,
              UnorderedElementsAre("scheduling.berth.dev/min-members", "volcano.sh/task-spec",
                                   "scheduling.k8s.io/group-name"));
}

// Groups of two members, for profiles with the schedulerName "".
class GangsPermitTest : public ::testing::Test {
 protected:
  api::PodPtr AddMember(const std::string& name) {
    PodBuilder pod = MakePod(name).Uid(name).Scheduler("");
    auto& annotations = pod.raw().metadata.annotations.emplace();
    annotations.Set("scheduling.berth.dev/group", "g");
    annotations.Set("scheduling.berth.dev/min-members", "2");
    api::PodPtr shared = pod.Share();
    cluster.groups().Put(shared);
    return shared;
  }
  framework::Code Permit(Gangs& of, const api::PodPtr& pod) {
    cluster.groups().Assume(*pod, "n1");
    const cluster::PodInfo info = cluster.Prepare(*pod);
    const std::string node = "n1";
    return of.Permit({info, node, cluster.state()}).status.code;
  }

  Cluster cluster;
  std::unique_ptr<Gangs> plugin = cluster.Make<Gangs>("{sources: [Annotation]}");
};

TEST_F(GangsPermitTest, MembersKeepWaitingWhenAReloadReplacesThePlugin) {
  const api::PodPtr a = AddMember("a"), b = AddMember("b");
  const WaitingMember waiting(cluster.Prepare(*a), cluster);
  EXPECT_EQ(Permit(*plugin, a), framework::Code::kWait);
  auto next = cluster.Make<Gangs>("{sources: [Annotation]}");
  plugin = std::move(next);
  EXPECT_EQ(Permit(*plugin, b), framework::Code::kSuccess);
  EXPECT_THAT(waiting.allowed, ElementsAre("Gangs"));
}

TEST_F(GangsPermitTest, AMemberInOneProfileCompletesAGroupThatWaitsInAnother) {
  const api::PodPtr a = AddMember("a"), b = AddMember("b");
  const auto other_profile = cluster.Make<Gangs>("{sources: [Annotation]}");
  const WaitingMember waiting(cluster.Prepare(*a), cluster);
  EXPECT_EQ(Permit(*plugin, a), framework::Code::kWait);
  EXPECT_EQ(Permit(*other_profile, b), framework::Code::kSuccess);
  EXPECT_THAT(waiting.allowed, ElementsAre("Gangs"));
}

TEST_F(GangsPermitTest, MinResourcesAreComparedBeforeTheFirstMember) {
  AddMember("a");
  const cluster::PodGroups::Group* known = cluster.groups().Find("default/group/g");
  ASSERT_NE(known, nullptr);
  api::PodGroup group = *known->object;
  api::PodGroup::External rules = *group.external;
  rules.min_resources = berth::testing::Amounts({{"cpu", "1"}});
  group.external = std::make_shared<const api::PodGroup::External>(std::move(rules));
  EXPECT_EQ(plugin->PlacementFeasible(group, {.remaining = 2}).Message(),
            "minResources are not free: cpu: 1 (free: 0m)");
  EXPECT_EQ(plugin->PlacementFeasible(group, {.remaining = 2, .begun = true}).code, framework::Code::kWait)
      << "a member has failed";
}

TEST(MissingResources, NodesMayOfferMoreInSumThanFitsAnInteger) {
  Cluster cluster;
  for (const char* node : {"n1", "n2"}) cluster.Add(MakeNode(node).Memory("5Ei"));
  EXPECT_EQ(MissingResources(berth::testing::Amounts({{"memory", "6Ei"}}), cluster::PodGroups::Group(),
                             cluster.handle()),
            "");
}

class GroupSourcesTest : public ::testing::Test {
 protected:
  static std::string GroupOf(const api::Pod& pod, std::vector<std::string> sources = GroupSources::Names()) {
    return GroupSources(sources, "default-scheduler").GroupOf(pod).value_or("");
  }
  static PodBuilder OwnedBy(const std::string& version, const std::string& kind) {
    PodBuilder pod = MakePod();
    pod.raw().metadata.controller.emplace() = {version, kind, "owner", "uid"};
    return pod;
  }
  static PodBuilder Annotated(std::string key, std::string value) {
    PodBuilder pod = MakePod();
    pod.raw().metadata.annotations.emplace().Set(std::move(key), std::move(value));
    return pod;
  }
};

TEST_F(GroupSourcesTest, APodBelongsToTheGroupThatItsMetadataNames) {
  struct Case {
    api::Pod pod;
    std::string group;
  };
  const auto spark = [](const char* role) {
    return MakePod().Label("spark-role", role).Label("spark-app-selector", "spark-1");
  };
  const auto flink = [](const char* component) {
    return MakePod().Label("type", "flink-native-kubernetes").Label("component", component).Label("app", "a");
  };
  for (const Case& c : std::initializer_list<Case>{
           {MakePod(), ""},
           {MakePod().Label("scheduling.x-k8s.io/pod-group", "g"), "default/podgroups.scheduling.x-k8s.io/g"},
           {MakePod().Label("scheduling.x-k8s.io/pod-group", ""), ""},
           {MakePod().Label("scheduling.x-k8s.io/pod-group", "g").Scheduler("other"), ""},
           {Annotated("scheduling.k8s.io/group-name", "v"), "default/podgroups.scheduling.volcano.sh/v"},
           {OwnedBy("batch/v1", "Job"), "default/jobs.batch/owner"},
           {OwnedBy("apps/v1", "ReplicaSet"), ""},
           {OwnedBy("example.com/v1", "Job"), ""},
           {spark("executor"), "default/spark/spark-1"},
           {spark("driver"), ""},
           {flink("taskmanager"), "default/flink/a"},
           {flink("jobmanager"), ""},
           {Annotated("scheduling.berth.dev/group", "x"), "default/group/x"},
           {Annotated("scheduling.berth.dev/group", std::string(254, 'x')), ""},
           {Annotated("scheduling.berth.dev/group", "a/b"), "default/group/a/b"}})
    EXPECT_EQ(GroupOf(c.pod), c.group);
}

TEST_F(GroupSourcesTest, TheFirstSourceThatMatchesCounts) {
  const auto pod = OwnedBy("batch/v1", "Job").Label("scheduling.x-k8s.io/pod-group", "g");
  EXPECT_EQ(GroupOf(pod, {"Job", "Coscheduling"}), "default/jobs.batch/owner");
  EXPECT_EQ(GroupOf(pod, {"Coscheduling", "Job"}), "default/podgroups.scheduling.x-k8s.io/g");
  EXPECT_EQ(GroupOf(pod, {"Flink"}), "");
}

TEST_F(GroupSourcesTest, AGroupWithAnObjectIsNotDescribedByItsMembers) {
  const std::vector<std::string> names = GroupSources::Names();
  const GroupSources sources(names, "default-scheduler");
  for (const api::Pod& pod : std::initializer_list<api::Pod>{
           MakePod().Label("scheduling.x-k8s.io/pod-group", "g"), OwnedBy("batch/v1", "Job")})
    EXPECT_EQ(sources.Describe(*sources.GroupOf(pod), pod), nullptr);
}

}  // namespace
}  // namespace berth::plugins
