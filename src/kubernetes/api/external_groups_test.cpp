#include "kubernetes/api/external_groups.hpp"

#include <gtest/gtest.h>

#include "kubernetes/api/decode.hpp"
#include "testing/builders.hpp"

namespace berth::api {
namespace {

template <class T>
PodGroupPtr GroupFrom(std::string_view json) {
  Decoder decoder({.annotations = {std::string(kMinMembersAnnotation)}});
  const auto object = decoder.Object<T>(json);
  EXPECT_TRUE(object) << object.error().message;
  return ToPodGroup(*object);
}

TEST(ExternalGroups, APodGroupOfSchedulerPlugins) {
  const auto group = GroupFrom<CoschedulingPodGroup>(R"({
    "apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
    "metadata": {"name": "training", "namespace": "ai", "uid": "u"},
    "spec": {"minMember": 4, "scheduleTimeoutSeconds": 10, "minResources": {"cpu": "8", "pods": "4"}},
    "status": {"phase": "Pending"}})");
  EXPECT_EQ(group->metadata.Key(), "ai/podgroups.scheduling.x-k8s.io/training");
  EXPECT_EQ(group->min_count(), 4);
  EXPECT_EQ(group->external->permit_timeout, std::chrono::seconds(10));
  EXPECT_EQ(group->external->min_resources, testing::Amounts({{"cpu", "8"}, {"pods", "4"}}));
}

TEST(ExternalGroups, ATimeoutOfZeroOrLessIsTheDefault) {
  for (const auto* seconds : {"0", "-1", "null"}) {
    const auto group = GroupFrom<CoschedulingPodGroup>(
        std::string(R"({"metadata": {"name": "g"}, "spec": {"scheduleTimeoutSeconds": )") + seconds + "}}");
    EXPECT_FALSE(group->external->permit_timeout) << seconds;
  }
}

TEST(ExternalGroups, APodGroupOfVolcano) {
  const auto group = GroupFrom<VolcanoPodGroup>(R"({
    "metadata": {"name": "mpi", "namespace": "ai"},
    "spec": {"minMember": 3, "queue": "batch", "minTaskMember": {"launcher": 1, "worker": 2}}})");
  EXPECT_EQ(group->metadata.Key(), "ai/podgroups.scheduling.volcano.sh/mpi");
  EXPECT_EQ(group->min_count(), 3);
  EXPECT_EQ(group->external->task_minimums,
            (std::vector<PodGroup::External::TaskMinimum>{{"launcher", 1}, {"worker", 2}}));
  EXPECT_EQ(group->external->invalid, "");
}

TEST(ExternalGroups, TasksAndResourcesAreLimited) {
  VolcanoPodGroup tasks;
  CoschedulingPodGroup resources;
  for (std::size_t i = 0; i <= kMaxGroupEntries; ++i) {
    tasks.min_task_member.push_back({std::to_string(i), 1});
    resources.min_resources[std::to_string(i)] = testing::Amount("1");
  }
  const auto of_tasks = ToPodGroup(tasks), of_resources = ToPodGroup(resources);
  EXPECT_EQ(of_tasks->external->invalid, "spec.minTaskMember: 65 entries: must have at most 64");
  EXPECT_TRUE(of_tasks->external->task_minimums.empty());
  EXPECT_EQ(of_resources->external->invalid, "spec.minResources: 65 entries: must have at most 64");
  EXPECT_TRUE(of_resources->external->min_resources.empty());
  tasks.min_task_member = {{std::string(254, 'x'), 1}};
  EXPECT_EQ(ToPodGroup(tasks)->external->invalid,
            "spec.minTaskMember: a name of 254 bytes: must have at most 253");
}

TEST(ExternalGroups, TheMembersOfAJobAreThePodsThatRunAtTheSameTime) {
  struct Case {
    std::string name, json;
    std::int32_t min_count;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"defaults", R"({"spec": {}})", 1},
           {"parallelism", R"({"spec": {"parallelism": 4}})", 4},
           {"fewer completions", R"({"spec": {"parallelism": 4, "completions": 3}})", 3},
           {"some pods have succeeded",
            R"({"spec": {"parallelism": 4, "completions": 5}, "status": {"succeeded": 3}})", 2},
           {"more succeeded than needed",
            R"({"spec": {"parallelism": 4, "completions": 5}, "status": {"succeeded": 9}})", 0},
           {"a work queue", R"({"spec": {"parallelism": 4}, "status": {"succeeded": 1}})", 4},
           {"an annotation",
            R"({"metadata": {"annotations": {"scheduling.berth.dev/min-members": "2"}},
                "spec": {"parallelism": 4}})",
            2},
           {"an annotation that is too large",
            R"({"metadata": {"annotations": {"scheduling.berth.dev/min-members": "9"}},
                "spec": {"parallelism": 4}})",
            4}})
    EXPECT_EQ(GroupFrom<Job>(c.json)->min_count(), c.min_count) << c.name;
}

TEST(ExternalGroups, AnInvalidNumberOfMembersIsNamed) {
  const auto invalid = [](const std::string& value) {
    ObjectMeta meta;
    meta.annotations.emplace().Set(std::string(kMinMembersAnnotation), value);
    return ReadMinMembers(meta).invalid;
  };
  EXPECT_EQ(invalid("7"), "");
  for (const auto* text : {"", "0", "-1", "2.5", "4 ", "99999999999"}) {
    EXPECT_EQ(invalid(text), "annotation scheduling.berth.dev/min-members: Invalid value: \"" +
                                 std::string(text) + "\": must be an integer of at least 1");
  }
  EXPECT_LT(invalid(std::string(1 << 20, 'x')).size(), 200U);
}

TEST(ExternalGroups, AChangeOfTheStatusIsNotAChangeOfTheGroup) {
  Job job{.metadata = {}, .parallelism = 2, .completions = 8, .succeeded = 1};
  const auto before = ToPodGroup(job);
  job.succeeded = 2;
  EXPECT_TRUE(SameExternalGroup(*before, *ToPodGroup(job)));
  job.succeeded = 7;
  EXPECT_FALSE(SameExternalGroup(*before, *ToPodGroup(job)));
}

}  // namespace
}  // namespace berth::api
