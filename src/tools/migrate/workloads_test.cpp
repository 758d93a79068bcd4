#include "tools/migrate/workloads.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "tools/migrate/fake_server.hpp"

namespace berth::migrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A pod of default-scheduler; `spec` and `labels` are further members of JSON.
std::string Pod(const std::string& name, const std::string& spec = "", const std::string& labels = "") {
  return fmt::format(
      R"({{"metadata":{{"name":"{}","namespace":"ns","uid":"{}","labels":{{{}}}}},"spec":{{"schedulerName":"default-scheduler","containers":[{{"name":"c"}}]{}{}}}}})",
      name, name, labels, spec.empty() ? "" : ",", spec);
}

std::string Named(const std::string& name) {
  return fmt::format(R"({{"metadata":{{"name":"{}","resourceVersion":"1"}}}})", name);
}

constexpr const char* kPods = "/api/v1/pods";

// One node and nothing else.
FakeServer Empty() {
  FakeServer server;
  server.List("/api/v1/nodes", {Named("n1")});
  server.List(kPods, {});
  server.List("/api/v1/persistentvolumes", {});
  return server;
}

Findings Check(FakeServer& server, const ServerFacts& facts = {}, std::vector<std::string> gates = {}) {
  std::vector<std::string> notes;
  Lists lists(server, {});
  return CheckWorkloads(
      lists, facts,
      {.schedulers = {"default-scheduler"}, .gates = *config::FeatureGates::Parse(gates, notes)});
}

const Finding* With(const Findings& findings, std::string_view text) {
  const auto found =
      std::ranges::find_if(findings, [&](const Finding& finding) { return finding.what.contains(text); });
  return found == findings.end() ? nullptr : &*found;
}

TEST(Workloads, PodsWithUnsupportedFeaturesAreFound) {
  const struct {
    const char* spec;
    const char* labels;
    std::vector<std::string> gates;
    Level level;
    const char* expected_text;
  } kCases[] = {
      {R"("resourceClaims":[{"name":"gpu","resourceClaimName":"c"}])",
       "",
       {},
       Level::kOk,
       "1 pod (1 pending) with resource claims (DRA)"},
      {R"("nodeName":"n1","resourceClaims":[{"name":"gpu"}])",
       "",
       {},
       Level::kOk,
       "1 pod with resource claims"},
      {R"("schedulingGroup":{"podGroupName":"g"})", "", {}, Level::kNote, "GenericWorkload is off"},
      {R"("schedulingGroup":{"podGroupName":"g"})",
       "",
       {"GenericWorkload=true"},
       Level::kOk,
       "1 pod (1 pending) of pod groups"},
      {"", R"("scheduling.x-k8s.io/pod-group":"g")", {}, Level::kWarning, "Coscheduling"},
      {R"("schedulerName":"volcano")",
       "",
       {},
       Level::kNote,
       R"(1 pod (1 pending) with the schedulerName "volcano", which is not a profile)"},
      {R"("volumes":[{"name":"v","awsElasticBlockStore":{"volumeID":"vol-1"}}])",
       "",
       {},
       Level::kNote,
       "1 volume of kubernetes.io/aws-ebs"},
      {"",
       "",
       {},
       Level::kOk,
       "1 pod (1 pending) would be scheduled by Berth, by schedulerName default-scheduler"},
  };
  for (const auto& one : kCases) {
    FakeServer server = Empty();
    // Of duplicate keys in JSON the last one counts.
    server.List(kPods, {Pod("p", one.spec, one.labels)});
    const Findings findings = Check(server, {}, one.gates);
    const Finding* found = With(findings, one.expected_text);
    ASSERT_NE(found, nullptr) << one.expected_text << "\n" << ToText(findings, "");
    EXPECT_EQ(found->level, one.level) << one.expected_text;
  }
}

TEST(Workloads, PodsOfOtherSchedulersAreNotChecked) {
  FakeServer server = Empty();
  server.List(kPods, {Pod("p", R"("schedulerName":"other","schedulingGroup":{"podGroupName":"g"})")});
  EXPECT_EQ(Evaluate(Check(server)).blockers, 0U);
}

TEST(Workloads, DevicesRequestedAsExtendedResourcesAreFound) {
  const struct {
    const char* resource;
    bool found;
  } kCases[] = {{"example.com/gpu", true},
                {"deviceclass.resource.kubernetes.io/gpus", true},
                {"example.com/nic", false}};
  for (const auto& one : kCases) {
    FakeServer server = Empty();
    server.List("/apis/resource.k8s.io/v1/deviceclasses",
                {R"({"metadata":{"name":"gpus"},"spec":{"extendedResourceName":"example.com/gpu"}})"});
    server.List(kPods, {Pod("p", fmt::format(R"("initContainers":[{{"name":"i","resources":{{"requests":)"
                                             R"({{"{}":"1"}}}}}}])",
                                             one.resource))});
    const Findings findings = Check(server, {.device_classes = "/apis/resource.k8s.io/v1/deviceclasses"});
    const Finding* found = With(findings, "which a DeviceClass provides");
    ASSERT_EQ(found != nullptr, one.found) << one.resource;
    EXPECT_TRUE(found == nullptr || found->level == Level::kOk) << one.resource;
  }
}

TEST(Workloads, UnusedGroupsAreReported) {
  FakeServer server = Empty();
  server.List("/groups", {Named("g")});
  const Findings findings = Check(server, {.pod_groups = "/groups"});
  const Finding* groups = With(findings, "1 pod group without pods");
  ASSERT_TRUE(groups != nullptr) << ToText(findings, "");
  EXPECT_EQ(groups->level, Level::kNote);
}

TEST(Workloads, ElasticQuotasNeedAPlugin) {
  FakeServer server = Empty();
  server.List("/quotas", {Named("q"), Named("r")});
  const Findings findings = Check(server, {.elastic_quotas = "/quotas"});
  const Finding* quotas = With(findings, "2 ElasticQuotas of scheduler-plugins");
  ASSERT_TRUE(quotas != nullptr) << ToText(findings, "");
  EXPECT_EQ(quotas->level, Level::kWarning);
  EXPECT_NE(With(Check(server, {.koordinator_quotas = "/quotas"}), "hierarchy: Koordinator"), nullptr);
  server.List("/quotas", {});
  EXPECT_EQ(With(Check(server, {.elastic_quotas = "/quotas"}), "ElasticQuota"), nullptr);
}

TEST(Workloads, AVolumeOfALegacyPluginNamesItsCsiDriver) {
  FakeServer server = Empty();
  server.List("/api/v1/persistentvolumes",
              {R"({"metadata":{"name":"a"},"spec":{"gcePersistentDisk":{"pdName":"d"}}})",
               R"({"metadata":{"name":"b"},"spec":{"csi":{"driver":"x.csi","volumeHandle":"h"}}})",
               R"({"metadata":{"name":"c"},"spec":{"nfs":{"server":"s","path":"/"}}})"});
  const Findings findings = Check(server);
  const Finding* old = With(findings, "kubernetes.io/gce-pd");
  ASSERT_NE(old, nullptr);
  EXPECT_THAT(old->what, HasSubstr("pd.csi.storage.gke.io"));
  EXPECT_THAT(old->names, ElementsAre("a"));
  EXPECT_NE(With(findings, "1 x.csi, 1 not by CSI"), nullptr);
}

TEST(Workloads, LongListsAreReadInPages) {
  FakeServer server = Empty();
  server.Put(kPods, [](const client::ApiRequest& request) -> client::Reply {
    if (request.path.contains("continue=more%2F2")) return FakeServer::ListOf({Pod("c")});
    return FakeServer::ListOf({Pod("a"), Pod("b", R"("nodeName":"n1")")}, "more/2");
  });
  std::vector<std::size_t> seen;
  Lists lists(server, [&](std::string_view plural, std::size_t read) {
    if (plural == "pods") seen.push_back(read);
  });
  const Findings findings = CheckWorkloads(lists, {}, {.schedulers = {"default-scheduler"}, .gates = {}});
  EXPECT_THAT(seen, ElementsAre(2, 3));
  EXPECT_NE(With(findings, "3 pods (2 pending) would be scheduled by Berth"), nullptr);
  EXPECT_NE(With(findings, "1 node, 1 pod on them, 2 pending"), nullptr);
  for (const std::string& requests : server.requests)
    EXPECT_THAT(requests, HasSubstr("?limit=500")) << requests;
}

TEST(Workloads, ForbiddenListsAreWarningsAndTheRestIsReported) {
  FakeServer server = Empty();
  server.Forbid(kPods);
  const Findings findings = Check(server);
  const Finding* found = With(findings, "not checked: pods: user cannot do this");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->level, Level::kWarning);
  EXPECT_EQ(Evaluate(findings).exit_code(), 1);
  EXPECT_EQ(With(findings, "MiB"), nullptr);  // the size of an incomplete list is unknown
}

TEST(Workloads, MemoryMatchesTheMeasurements) {
  EXPECT_EQ(MemoryFor({}) >> 20, 22U);
  EXPECT_EQ(MemoryFor({.nodes = 5000, .placed_pods = 30'000}) >> 20, 53U);  // measured: 53 MiB
}

TEST(Workloads, NamesOnlyAFewOfManyObjects) {
  Tally tally;
  for (int i = 0; i < 5; ++i) tally.Add(fmt::format("ns/p{}", i));
  const std::string text =
      ToText({About(tally, Level::kBlocker, Topic::kWorkloads, "5 pods wait")}, "server");
  EXPECT_THAT(text, HasSubstr("  blocker  5 pods wait: ns/p0, ns/p1, ns/p2, ...\n"));
  EXPECT_THAT(text, HasSubstr("0 ok, 0 notes, 0 warnings, 1 blocker: not ready for Berth"));
}

}  // namespace
}  // namespace berth::migrate
