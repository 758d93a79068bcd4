#include "kubernetes/client/status_patch.hpp"

#include <gtest/gtest.h>

namespace berth::client {
namespace {

using namespace std::chrono_literals;

struct PatchCase {
  std::string name;
  std::vector<api::PodCondition> conditions;
  std::string nominated;
  std::string reason, message;
  std::optional<std::string> nominate;
  std::string want;
};
class StatusPatch : public testing::TestWithParam<PatchCase> {};

TEST_P(StatusPatch, ContainsOnlyTheDifference) {
  const auto& row = GetParam();
  auto pod = std::make_shared<api::Pod>();
  pod->status.conditions = row.conditions;
  pod->status.nominated_node_name = row.nominated;
  const ports::PodStatusPatch patch{.ns = "default",
                                    .name = "p",
                                    .reason = row.reason,
                                    .message = row.message,
                                    .observed_generation = 1,
                                    .current = pod,
                                    .nomination = row.nominate};
  EXPECT_EQ(StatusPatchBody(patch, WallTime(1767409445s)), row.want);
}

api::PodCondition Scheduled(std::string status, std::string reason, std::string message,
                            std::int64_t generation = 1) {
  return {"PodScheduled",     std::move(status),      std::move(reason),
          std::move(message), "2026-01-01T00:00:00Z", generation};
}
const api::PodCondition kReady{"Ready", "False", "", "", "", 0};

INSTANTIATE_TEST_SUITE_P(
    Table, StatusPatch,
    testing::Values(
        PatchCase{
            "TheFirstFailureIsAWholeConditionWithoutOrder",
            {},
            "",
            "Unschedulable",
            "0/3 nodes \"are\"",
            std::nullopt,
            R"({"status":{"conditions":[{"lastProbeTime":null,"lastTransitionTime":"2026-01-03T03:04:05Z",)"
            R"("message":"0/3 nodes \"are\"","observedGeneration":1,"reason":"Unschedulable","status":"False",)"
            R"("type":"PodScheduled"}]}})"},
        PatchCase{
            "OtherConditionsBringAnOrder",
            {kReady},
            "",
            "Unschedulable",
            "m",
            std::nullopt,
            R"({"status":{"$setElementOrder/conditions":[{"type":"Ready"},{"type":"PodScheduled"}],)"
            R"("conditions":[{"lastProbeTime":null,"lastTransitionTime":"2026-01-03T03:04:05Z","message":"m",)"
            R"("observedGeneration":1,"reason":"Unschedulable","status":"False","type":"PodScheduled"}]}})"},
        PatchCase{"ANewMessageIsTheMessageOnly",
                  {Scheduled("False", "Unschedulable", "old")},
                  "",
                  "Unschedulable",
                  "new",
                  std::nullopt,
                  R"({"status":{"$setElementOrder/conditions":[{"type":"PodScheduled"}],)"
                  R"("conditions":[{"message":"new","type":"PodScheduled"}]}})"},
        PatchCase{"ANewGenerationComesAlong",
                  {Scheduled("False", "SchedulingGated", "old", 7)},
                  "",
                  "Unschedulable",
                  "new",
                  std::nullopt,
                  R"({"status":{"$setElementOrder/conditions":[{"type":"PodScheduled"}],)"
                  R"("conditions":[{"message":"new","observedGeneration":1,"reason":"Unschedulable",)"
                  R"("type":"PodScheduled"}]}})"},
        PatchCase{"AGenerationAloneIsNoReasonToWrite",
                  {Scheduled("False", "Unschedulable", "m", 7)},
                  "",
                  "Unschedulable",
                  "m",
                  std::nullopt,
                  ""},
        PatchCase{"ANewStatusHasANewTransitionTime",
                  {Scheduled("Unknown", "Unschedulable", "m")},
                  "",
                  "Unschedulable",
                  "m",
                  std::nullopt,
                  R"({"status":{"$setElementOrder/conditions":[{"type":"PodScheduled"}],)"
                  R"("conditions":[{"lastTransitionTime":"2026-01-03T03:04:05Z","status":"False",)"
                  R"("type":"PodScheduled"}]}})"},
        PatchCase{"AMessageThatGoesIsNull",
                  {Scheduled("False", "Unschedulable", "m")},
                  "",
                  "Unschedulable",
                  "",
                  std::nullopt,
                  R"({"status":{"$setElementOrder/conditions":[{"type":"PodScheduled"}],)"
                  R"("conditions":[{"message":null,"type":"PodScheduled"}]}})"},
        PatchCase{"NothingNewIsNothingSent",
                  {Scheduled("False", "Unschedulable", "m")},
                  "n1",
                  "Unschedulable",
                  "m",
                  std::nullopt,
                  ""},
        PatchCase{"ANominationCanBeClearedAlone",
                  {Scheduled("False", "Unschedulable", "m")},
                  "n1",
                  "Unschedulable",
                  "m",
                  "",
                  R"({"status":{"nominatedNodeName":null}})"},
        PatchCase{"WhereThereIsNoNominationThereIsNothingToClear",
                  {Scheduled("False", "Unschedulable", "m")},
                  "",
                  "Unschedulable",
                  "m",
                  "",
                  ""},
        PatchCase{"ANominationCanBeWrittenAlone",
                  {Scheduled("False", "Unschedulable", "m")},
                  "",
                  "",
                  "",
                  "n2",
                  R"({"status":{"nominatedNodeName":"n2"}})"},
        PatchCase{"TheSameNominationAgainIsNothingSent", {}, "n2", "", "", "n2", ""},
        PatchCase{"BothAtOnce",
                  {Scheduled("False", "Unschedulable", "old")},
                  "n1",
                  "SchedulerError",
                  "new",
                  "",
                  R"({"status":{"$setElementOrder/conditions":[{"type":"PodScheduled"}],)"
                  R"("conditions":[{"message":"new","reason":"SchedulerError","type":"PodScheduled"}],)"
                  R"("nominatedNodeName":null}})"}),
    [](const auto& row) { return row.param.name; });

TEST(StatusPatchOf, AnotherConditionFollowsTheExistingOnes) {
  auto pod = std::make_shared<api::Pod>();
  pod->status.conditions = {kReady};
  const ports::PodStatusPatch patch{.ns = "default",
                                    .name = "p",
                                    .type = "DisruptionTarget",
                                    .status = "True",
                                    .reason = "PreemptionByScheduler",
                                    .message = "s: preempting to accommodate a higher priority pod",
                                    .observed_generation = 2,
                                    .current = pod};
  EXPECT_EQ(StatusPatchBody(patch, WallTime(1767409445s)),
            R"({"status":{"$setElementOrder/conditions":[{"type":"Ready"},{"type":"DisruptionTarget"}],)"
            R"("conditions":[{"lastProbeTime":null,"lastTransitionTime":"2026-01-03T03:04:05Z","message":)"
            R"("s: preempting to accommodate a higher priority pod","observedGeneration":2,)"
            R"("reason":"PreemptionByScheduler","status":"True","type":"DisruptionTarget"}]}})");
}

TEST(StatusPatchOf, ANominationIsClearedThatTheWatchHasNotDeliveredYet) {
  ports::PodStatusPatch patch{
      .ns = "default", .name = "p", .current = std::make_shared<api::Pod>(), .nomination = ""};
  EXPECT_EQ(StatusPatchBody(patch, WallTime(1767409445s)), "");
  patch.written_nomination = "n1";
  EXPECT_EQ(StatusPatchBody(patch, WallTime(1767409445s)), R"({"status":{"nominatedNodeName":null}})");
}

TEST(StatusPatchOf, TheClaimForExtendedResourcesReplacesAnEarlierOne) {
  const api::ExtendedResourceClaimStatus claim{"made",
                                               {{"main", "example.com/gpu", "container-0-request-0"}}};
  auto pod = std::make_shared<api::Pod>();
  ports::PodStatusPatch patch{.ns = "default", .name = "p", .current = pod};
  patch.extended_resource_claim = claim;
  const char* body =
      R"({"status":{"extendedResourceClaimStatus":{"requestMappings":[{"containerName":"main",)"
      R"("requestName":"container-0-request-0","resourceName":"example.com/gpu"}],)"
      R"("resourceClaimName":"made"}}})";
  EXPECT_EQ(StatusPatchBody(patch, WallTime{}), body);
  pod->status.extended_resource_claim = api::ExtendedResourceClaimStatus{"older", {}};
  EXPECT_EQ(StatusPatchBody(patch, WallTime{}), body);
  pod->status.extended_resource_claim = claim;
  EXPECT_EQ(StatusPatchBody(patch, WallTime{}), "") << "nothing changes";
}

}  // namespace
}  // namespace berth::client
