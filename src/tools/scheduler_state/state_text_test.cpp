#include "tools/scheduler_state/state_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/yaml.hpp"
#include "tools/scheduler_state/age_text.hpp"

namespace berth::scheduler_state {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kNow = 1'790'000'000;  // 2026-09-21T14:13:20Z

config::Value Json(const char* text) { return yaml::ParseValue(text).value(); }

TEST(AgeText, UsesTheLargestUnitWithAtLeastTwo) {
  const std::pair<std::int64_t, const char*> cases[] = {{-5, "0s"},       {0, "0s"},      {119, "119s"},
                                                        {120, "2m"},      {7199, "119m"}, {7200, "2h"},
                                                        {172'799, "47h"}, {172'800, "2d"}};
  for (const auto& [seconds, want] : cases) EXPECT_EQ(AgeText(seconds), want) << seconds;
}

TEST(StatusText, IsATableOfTheReport) {
  EXPECT_EQ(StatusText(Json(R"({"version":"0.1.0","leading":true,"synced":true,"nodes":5000,
                                "queue":{"active":0,"unschedulable":12,"gated":2,"inFlight":1},
                                "records":{"count":1234,"bytes":1572864,"dropped":3}})"),
                       "pod kube-system/berth-0"),
            "scheduler   pod kube-system/berth-0\n"
            "version     Berth 0.1.0\n"
            "role        leader\n"
            "view        5,000 nodes; complete\n"
            "queue       12 unschedulable, 2 gated, 1 in flight\n"
            "records     1,234 attempts in 1.5 MiB; 3 dropped\n");
  EXPECT_THAT(StatusText(Json("{}"), "a"), HasSubstr("role        standby: it does not schedule\n"));
}

constexpr const char* kQueue =
    R"({"total":3,"places":[{"place":"unschedulable","pods":2},{"place":"gated","pods":1}],
  "causes":[{"plugin":"NodeResourcesFit","pods":2}],"namespaces":[{"namespace":"shop","pods":3}],
  "owners":[{"namespace":"shop","owner":"ReplicaSet/web","pods":2}],"matching":3,"remaining":2,
  "pods":[{"namespace":"shop","name":"web-1","place":"unschedulable","since":"2026-09-21T14:03:20.000000Z",
           "attempts":4,"priority":100,"rejectedBy":["NodeResourcesFit","TaintToleration"]}]})";

TEST(QueueText, CountsAndListsPods) {
  EXPECT_EQ(
      QueueText(Json(kQueue), {.now = kNow}),
      "3 pods in the queue: unschedulable 2, gated 1\n"
      "  rejected by: NodeResourcesFit 2\n"
      "  namespaces: shop 3\n"
      "  owners: shop/ReplicaSet/web 2\n"
      "\n"
      "NAMESPACE   POD     PLACE           FOR   ATTEMPTS   PRIORITY   REJECTED BY\n"
      "shop        web-1   unschedulable   10m   4          100        NodeResourcesFit, TaintToleration\n"
      "1 of 3 matching pods; --offset and --limit show the others\n");
  const config::Value lacking = Json(R"({"total":5,"shortfall":[
    {"resource":"nvidia.com/gpu","pods":5,"requested":"40","free":"28","missing":"12","largestRequest":"8","largestFree":"4"},
    {"resource":"cpu","pods":1,"requested":"16","free":"64","missing":"0","largestRequest":"16","largestFree":"8"}]})");
  EXPECT_THAT(QueueText(lacking, {.now = kNow}),
              HasSubstr("  nvidia.com/gpu: 12 missing for 5 pods, which request 40; 28 free\n"
                        "  cpu: a pod requests 16; at most 8 free on a node\n"));
  EXPECT_EQ(QueueText(Json(R"({"total":0})"), {.now = kNow}), "No pod waits in the queue.\n");
  EXPECT_THAT(QueueText(Json(R"({"total":1,"matching":0})"), {.now = kNow}),
              HasSubstr("No pod matches the flags."));
}

TEST(PodText, TellsThePlaceTheNextRetryAndTheAttempts) {
  const config::Value pod = Json(R"({"namespace":"shop","name":"web","stage":"queued","podGroup":"shop/g",
    "queue":{"place":"unschedulable","since":"2026-09-21T14:11:20Z","attempts":2,
             "nextRetry":"2026-09-21T14:16:20Z","rejectedBy":["NodeResourcesFit"],
             "wokenBy":[{"plugin":"NodeResourcesFit","events":["Node: Add","AssignedPod: Delete"]}]},
    "attempts":[{"time":"2026-09-21T14:11:20Z","result":"unschedulable","nodes":{"total":4,"feasible":0},
                 "reasons":[{"plugin":"NodeResourcesFit","reason":"Insufficient cpu","nodes":4,"nodesBefore":3}],
                 "preemption":{"node":"n1","victimCount":2}},
                {"time":"2026-09-21T14:09:20Z","result":"error","message":"timeout"}],
    "moreAttempts":5})");
  EXPECT_EQ(
      PodText(pod, "pod kube-system/berth-0", {.now = kNow}),
      "shop/web is in the queue (unschedulable) for 2m, after 2 attempts; the next attempt comes within 3m "
      "(pod kube-system/berth-0)\n"
      "  member of pod group shop/g\n"
      "  rejected by NodeResourcesFit\n"
      "  retried earlier for NodeResourcesFit after Node: Add; AssignedPod: Delete\n"
      "  attempt 2m ago: unschedulable; 0 of 4 nodes fit\n"
      "    4 nodes: Insufficient cpu [NodeResourcesFit]; 3 in the attempt before\n"
      "    preemption: evicts 2 pods from n1\n"
      "  attempt 4m ago: error\n"
      "    timeout\n"
      "  5 older attempts\n");
}

TEST(PodText, TellsHowFarTheGroupOfThePodCame) {
  const auto text = [](const std::string& more) {
    const std::string json = R"({"namespace":"shop","name":"a","stage":"gone","attempts":[
      {"time":"2026-09-21T14:11:20Z","result":"unschedulable","group":{"name":"shop/g","result":"unschedulable",
       "minCount":3,"scheduled":1,"pending":4,"placed":1,"failed":2,"notTried":1)" +
                             more + "}}]}";
    return PodText(Json(json.c_str()), "s", {.now = kNow});
  };
  const std::string counts =
      "    group: 1 of 4 waiting members found a node, 2 found none, 1 not evaluated; 3 needed, 1 on nodes "
      "before\n";
  EXPECT_THAT(text(""), HasSubstr(counts)) << "a summary";
  EXPECT_THAT(text(R"(,"failures":[{"pod":"shop/b","message":"0/2 nodes are available: 2 Insufficient cpu."},
                                   {"pod":"shop/c","message":"another"}])"),
              HasSubstr(counts + "    shop/b: 0/2 nodes are available: 2 Insufficient cpu.\n"));
}

TEST(PodText, TellsTheTenantAndThoseBeforeIt) {
  const auto text = [](const std::string& more) {
    const std::string json = R"({"stage":"queued","queue":{"place":"active","since":"2026-09-21T14:13:20Z",
      "attempts":1,"ahead":3,"tenant":{"name":"batch","share":0.3125,"resource":"cpu","weight":2,"waiting":9},)" +
                             more + "}}";
    return PodText(Json(json.c_str()), "s", {.now = kNow});
  };
  EXPECT_THAT(text(R"("tenantsBefore":0)"), HasSubstr("3 pods of its tenant before it"));
  EXPECT_THAT(text(R"("tenantsBefore":0)"),
              HasSubstr("  tenant batch has 31.2% of the cluster's cpu (weight 2)\n"
                        "  its first pod is the next one that is tried\n"));
  EXPECT_THAT(
      text(R"("tenantsBefore":3,"firstTenants":[{"name":"web","share":0,"weight":1},
                      {"name":"ml","share":0.01,"resource":"memory","weight":1}])"),
      HasSubstr(
          "  before it, one pod each: web uses nothing; ml has 1.0% of the cluster's memory; 1 more\n"));
  EXPECT_THAT(text(R"("tenantsBefore":3)"), HasSubstr("  before it, one pod each of 3 other tenants\n"))
      << "a summary";
}

TEST(PodText, TellsTheStageOfPodsThatAreNotQueued) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"stage":"scheduling"})", "is being scheduled"},
      {R"({"stage":"binding"})", "its binding is not confirmed yet"},
      {R"({"stage":"gone"})", "it was bound or deleted"},
      {R"({"stage":"queued","queue":{"place":"active","since":"2026-09-21T14:13:20Z","attempts":1,"ahead":7}})",
       "(active) for 0s, after 1 attempt; 7 pods before it"},
      {R"({"stage":"queued","queue":{"place":"backoff","nextRetry":"2026-09-21T14:13:19Z"}})",
       "the next attempt is due"},
  };
  for (const auto& [json, want] : cases)
    EXPECT_THAT(PodText(Json(json), "s", {.now = kNow}), HasSubstr(want)) << json;
}

}  // namespace
}  // namespace berth::scheduler_state
