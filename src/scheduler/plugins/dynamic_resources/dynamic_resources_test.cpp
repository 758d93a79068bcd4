#include "scheduler/plugins/dynamic_resources/dynamic_resources.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubernetes/api/decode.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/devices/cluster_devices.hpp"
#include "scheduler/framework/eviction_protection.hpp"
#include "scheduler/plugins/dynamic_resources/device_selectors.hpp"
#include "scheduler/plugins/dynamic_resources/special_claim.hpp"
#include "scheduler/plugins/dynamic_resources/weighted_cache.hpp"
#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using api::ResourceClaim;
using berth::testing::Cluster;
using berth::testing::Fits;
using berth::testing::MakeContainer;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using berth::testing::Unresolvable;
using berth::testing::Verdict;
using berth::testing::Verdicts;
using ::testing::ElementsAre;
using Change = ports::ClaimChange;

template <class T>
T Read(const std::string& json) {
  auto object = api::Decoder().Object<T>(json);
  EXPECT_TRUE(object) << (object ? "" : object.error().message) << "\n" << json;
  return *std::move(object);
}

class DynamicResourcesTest : public ::testing::Test {
 protected:
  DynamicResourcesTest() {
    cluster_.Add(MakeNode("with")).Add(MakeNode("without"));
    cluster_.Put(Read<api::DeviceClass>(R"({"metadata": {"name": "gpu"}, "spec": {"selectors": [
      {"cel": {"expression": "device.driver == 'd'"}}]}})"));
    cluster_.Put(
        Read<api::ResourceSlice>(R"({"metadata": {"name": "s"}, "spec": {"driver": "d", "nodeName": "with",
      "pool": {"name": "p", "resourceSliceCount": 1}, "devices": [
        {"name": "g0", "attributes": {"model": {"string": "a"}}},
        {"name": "g1", "attributes": {"model": {"string": "b"}}}]}})"));
    plugin_ = cluster_.Make<DynamicResources>();
  }

  // A claim with one request of class gpu; `request` and `status`: further JSON.
  void PutClaim(const std::string& name, const std::string& request = "", const std::string& status = "{}",
                const std::string& metadata = "") {
    cluster_.Put(Read<ResourceClaim>(fmt::format(
        R"({{"metadata": {{"namespace": "default", "name": "{0}", "uid": "uid-{0}", "resourceVersion": "5"{3}}},
            "spec": {{"devices": {{"requests": [{{"name": "r", "exactly": {{"deviceClassName": "gpu"{1}}}}}]}}}},
            "status": {2}}})",
        name, request, status, metadata)));
  }
  static std::string Allocated(const std::string& device, const std::string& more = "",
                               const std::string& node = "with") {
    return fmt::format(R"({{"allocation": {{"devices": {{"results": [
        {{"request": "r", "driver": "d", "pool": "p", "device": "{}"{}}}]}}, "nodeSelector": {{"nodeSelectorTerms": [
        {{"matchFields": [{{"key": "metadata.name", "operator": "In", "values": ["{}"]}}]}}]}}}}}})",
                       device, more, node);
  }
  static api::Pod PodWith(const std::vector<std::string>& claims) {
    api::Pod pod = MakePod("pod");
    pod.metadata.uid = "pod-uid";
    std::vector<api::PodResourceClaim> references;
    for (const std::string& claim : claims) references.push_back({claim, claim, std::nullopt});
    pod.spec.resource_claims = references;
    return pod;
  }
  Verdicts Evaluate(const std::vector<std::string>& claims) {
    return cluster_.Evaluate(*plugin_, PodWith(claims));
  }
  framework::Status PreFilter(const api::Pod& pod) { return cluster_.PreFilter(*plugin_, pod).status; }

  // Evaluates the pod, reserves its devices on the node, and runs PreBind until it ends or waits.
  void Bind(const std::vector<std::string>& claims, const std::string& node = "with") {
    BindPod(PodWith(claims), node);
  }
  void BindPod(const api::Pod& pod, const std::string& node = "with") {
    pod_ = pod;
    info_ = cluster_.Prepare(pod_);
    node_ = node;
    cluster_.Evaluate(*plugin_, pod_);
    state_ = cluster_.state().Clone();  // other evaluations replace that of the cluster
    placement_.emplace(framework::Placement{*info_, node_, state_});
    const framework::Status reserved = plugin_->Reserve(*placement_);
    ASSERT_TRUE(reserved.ok()) << reserved.Message();
    plugin_->PreBind(*placement_, {}, [this](framework::Status status) { result_ = std::move(status); });
    cluster_.loop().Run();
  }

  Cluster cluster_;
  std::unique_ptr<DynamicResources> plugin_;
  api::Pod pod_;
  std::optional<cluster::PodInfo> info_;
  std::string node_;
  framework::CycleState state_;
  std::optional<framework::Placement> placement_;
  std::optional<framework::Status> result_;
};

TEST_F(DynamicResourcesTest, PodsWithoutClaimsAreSkipped) {
  EXPECT_TRUE(PreFilter(MakePod()).skip());
  EXPECT_TRUE(PreFilter(MakePod().Request("example.com/gpu", "1")).skip());
}

TEST_F(DynamicResourcesTest, NodesWithoutFreeDevicesAreRejected) {
  PutClaim("one");
  PutClaim("two", R"(, "count": 2)");
  PutClaim("three", R"(, "count": 3)");
  PutClaim("b", R"(, "selectors": [{"cel": {"expression": "device.attributes['d'].model == 'b'"}}])");
  const Verdicts on_one = {{"with", Fits()}, {"without", Unresolvable({"cannot allocate all claims"})}};
  const Verdicts nowhere = {{"with", Unresolvable({"cannot allocate all claims"})},
                            {"without", Unresolvable({"cannot allocate all claims"})}};
  EXPECT_EQ(Evaluate({"one"}), on_one);
  EXPECT_EQ(Evaluate({"two"}), on_one);
  EXPECT_EQ(Evaluate({"three"}), nowhere);
  EXPECT_EQ(Evaluate({"one", "two"}), nowhere);
  EXPECT_EQ(Evaluate({"one", "b"}), on_one);
  PutClaim("other", "", Allocated("g1"));
  EXPECT_EQ(Evaluate({"one"}), on_one);
  EXPECT_EQ(Evaluate({"b"}), nowhere) << "in use";
}

TEST_F(DynamicResourcesTest, AllocatedClaimsRestrictThePodToTheirNodes) {
  PutClaim("here", "", Allocated("g0"));
  EXPECT_EQ(
      Evaluate({"here"}),
      (Verdicts{{"with", Fits()}, {"without", Unresolvable({"resourceclaim not available on the node"})}}));
}

TEST_F(DynamicResourcesTest, ClaimsThatCannotBeUsedRejectThePod) {
  PutClaim("deleting", "", "{}", R"(, "deletionTimestamp": "2026-01-01T00:00:00Z")");
  cluster_.Put(Read<ResourceClaim>(R"({"metadata": {"namespace": "default", "name": "classless", "uid": "u"},
    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "none"}}]}}})"));
  cluster_.Put(Read<ResourceClaim>(R"({"metadata": {"namespace": "default", "name": "unknown", "uid": "v"},
    "spec": {"devices": {"requests": [{"name": "r"}]}}})"));
  PutClaim("pending");
  cluster_.handle().devices.allocated().AddPending("uid-pending",
                                                   std::make_shared<ResourceClaim::Allocation>());
  const std::pair<const char*, const char*> cases[] = {
      {"missing", "could not find ResourceClaim \"default/missing\""},
      {"deleting", "resourceclaim \"deleting\" is being deleted"},
      {"classless", "request r: device class none does not exist"},
      {"unknown", "resource claim default/unknown, request r: unknown request type"},
      {"pending", "resource claim default/pending is in the process of being allocated"},
  };
  for (const auto& [claim, text] : cases) {
    const framework::Status status = PreFilter(PodWith({claim}));
    EXPECT_EQ(status.code, framework::Code::kUnschedulableAndUnresolvable) << claim;
    EXPECT_EQ(status.Message(), text);
  }
}

TEST_F(DynamicResourcesTest, ClaimsOfTemplatesAreFoundByTheStatusOfThePod) {
  api::Pod pod = MakePod("pod");
  pod.metadata.uid = "pod-uid";
  pod.spec.resource_claims = {{"gpu", std::nullopt, "template"}};
  EXPECT_EQ(PreFilter(pod).Message(), "pod \"default/pod\": ResourceClaim not created yet");
  pod.status.resource_claim_statuses = {{"gpu", "made"}};
  PutClaim("made");
  EXPECT_EQ(PreFilter(pod).Message(),
            "ResourceClaim default/made was not created for Pod default/pod (Pod is not owner)");
  PutClaim("made", "", "{}",
           R"(, "ownerReferences": [{"kind": "Pod", "name": "pod", "uid": "pod-uid", "controller": true}])");
  EXPECT_TRUE(PreFilter(pod).ok());
  pod.status.resource_claim_statuses = {{"gpu", std::nullopt}};
  EXPECT_TRUE(PreFilter(pod).skip()) << "no claim was needed";
}

TEST_F(DynamicResourcesTest, ClaimsOfManyTemplatesAreFoundInAnyOrder) {
  api::Pod pod = MakePod("pod");
  pod.metadata.uid = "pod-uid";
  std::vector<api::PodResourceClaim> references;
  std::vector<api::PodResourceClaimStatus> statuses;
  for (int i = 0; i < 40; ++i) {
    references.push_back({fmt::format("t{}", i), std::nullopt, "template"});
    statuses.push_back({fmt::format("t{}", 39 - i), fmt::format("made-{}", 39 - i)});
    PutClaim(
        fmt::format("made-{}", i), "", "{}",
        R"(, "ownerReferences": [{"kind": "Pod", "name": "pod", "uid": "pod-uid", "controller": true}])");
  }
  pod.spec.resource_claims = references;
  pod.status.resource_claim_statuses = statuses;
  EXPECT_TRUE(PreFilter(pod).ok());
  statuses[10].resource_claim_name = "missing";
  pod.status.resource_claim_statuses = statuses;
  EXPECT_EQ(PreFilter(pod).Message(), "could not find ResourceClaim \"default/missing\"");
  statuses.pop_back();
  statuses.erase(statuses.begin() + 10);
  pod.status.resource_claim_statuses = statuses;
  EXPECT_EQ(PreFilter(pod).Message(), "pod \"default/pod\": ResourceClaim not created yet");
}

TEST_F(DynamicResourcesTest, AClaimThatIsReferencedOftenIsOneClaimAmongOthers) {
  PutClaim("c");
  cluster_.Put(Read<ResourceClaim>(
      R"({"metadata": {"namespace": "default", "name": "wrong", "uid": "uid-wrong"}, "spec": {"devices": {
          "requests": [{"name": "r", "exactly": {"deviceClassName": "none"}}]}}})"));
  EXPECT_TRUE(PreFilter(PodWith({"c", "c", "c"})).ok());
  const std::string text = "request r: device class none does not exist";
  EXPECT_EQ(PreFilter(PodWith({"wrong", "wrong"})).Message(), text);
  EXPECT_EQ(PreFilter(PodWith({"c", "c", "wrong"})).Message(), text);
}

TEST_F(DynamicResourcesTest, AnAllocatedClaimThatIsReferencedOftenIsLocatedOnce) {
  PutClaim("here", "", Allocated("g0"));
  PutClaim("there", "", Allocated("g1", "", "without"));
  const auto details = [&](const std::vector<std::string>& claims) {
    cluster::PodInfo info = cluster_.Prepare(PodWith(claims));
    framework::ScratchPool scratch;
    framework::CycleState state;
    const framework::Attempt attempt(info, cluster_.nodes(), state, scratch);
    EXPECT_TRUE(plugin_->PreFilter(attempt).status.ok());
    framework::Rejections out;
    plugin_->Filter(attempt, cluster_.nodes().all(), out);
    RowSet rejected(cluster_.nodes().rows());
    rejected.Add(cluster_.RowOf("without"));
    const auto found = plugin_->RejectionDetails(attempt, rejected);
    return found.empty() ? std::vector<std::string>() : found.front().lines;
  };
  const std::string line =
      "claim default/here: its devices are allocated and usable only on nodes with metadata.name In [with]";
  EXPECT_THAT(details({"here"}), ElementsAre(line));
  EXPECT_THAT(details({"here", "here", "there", "here"}), ElementsAre(line));
  const Verdict unavailable = Unresolvable({"resourceclaim not available on the node"});
  EXPECT_EQ(Evaluate({"here", "here"}), (Verdicts{{"with", Fits()}, {"without", unavailable}}));
  EXPECT_EQ(Evaluate({"here", "here", "there", "there"}),
            (Verdicts{{"with", unavailable}, {"without", unavailable}}));
}

TEST_F(DynamicResourcesTest, WrongExpressionsAreErrors) {
  PutClaim("bad", R"(, "selectors": [{"cel": {"expression": "device.driver == 1"}}])");
  cluster::PodInfo info = cluster_.Prepare(PodWith({"bad"}));
  framework::ScratchPool scratch;
  framework::CycleState state;
  const framework::Attempt attempt(info, cluster_.nodes(), state, scratch);
  ASSERT_TRUE(plugin_->PreFilter(attempt).status.ok());
  framework::Rejections out;
  plugin_->Filter(attempt, cluster_.nodes().all(), out);
  ASSERT_EQ(out.errors().size(), 1);
  EXPECT_EQ(out.errors()[0].first, cluster_.RowOf("with"));
  EXPECT_TRUE(out.errors()[0].second.starts_with("claim default/bad: selector #0: CEL compile error: "))
      << out.errors()[0].second;
}

TEST_F(DynamicResourcesTest, FirstAlternativesScoreHigher) {
  cluster_.Add(MakeNode("small"));
  cluster_.Put(
      Read<api::ResourceSlice>(R"({"metadata": {"name": "t"}, "spec": {"driver": "d", "nodeName": "small",
    "pool": {"name": "q", "resourceSliceCount": 1}, "devices": [{"name": "g0", "attributes": {"model": {"string": "c"}}}]}})"));
  cluster_.Put(Read<ResourceClaim>(R"({"metadata": {"namespace": "default", "name": "either", "uid": "u"},
    "spec": {"devices": {"requests": [{"name": "r", "firstAvailable": [
      {"name": "a", "deviceClassName": "gpu", "selectors": [{"cel": {"expression": "device.attributes['d'].model == 'a'"}}]},
      {"name": "any", "deviceClassName": "gpu"}]}]}}})"));
  const api::Pod pod = PodWith({"either"});
  EXPECT_EQ(cluster_.Evaluate(*plugin_, pod).at("small"), Fits());
  const auto scores = cluster_.Scores(*plugin_, pod);
  EXPECT_EQ(scores.at("with"), 100);
  EXPECT_EQ(scores.at("small"), 87);
}

// --- binding ---

TEST_F(DynamicResourcesTest, BindingWritesFinalizerAllocationAndReservation) {
  PutClaim("one");
  cluster_.api().version = "6";
  Bind({"one"});
  ASSERT_TRUE(result_ && result_->ok()) << (result_ ? result_->Message() : "no result");
  const auto& writes = cluster_.api().claims;
  ASSERT_EQ(writes.size(), 2);
  EXPECT_EQ(writes[0].resource_version, "5");
  EXPECT_THAT(std::get<Change::SetFinalizers>(writes[0].change).finalizers,
              ElementsAre("resource.kubernetes.io/delete-protection"));
  EXPECT_EQ(writes[1].resource_version, "6");
  const auto& reserve = std::get<Change::Reserve>(writes[1].change);
  ASSERT_TRUE(reserve.allocation != nullptr);
  EXPECT_EQ(reserve.allocation->devices.at(0).device, "g0");
  EXPECT_TRUE(reserve.set_timestamp);
  EXPECT_EQ(reserve.consumers.at(0), (ResourceClaim::Consumer{"", "pods", "pod", "pod-uid"}));
}

TEST_F(DynamicResourcesTest, ReservedDevicesAreInUseUntilTheReservationIsDropped) {
  PutClaim("one", R"(, "count": 2)");
  PutClaim("two");
  Bind({"one"});
  EXPECT_EQ(Evaluate({"two"}).at("with"), Unresolvable({"cannot allocate all claims"}));
  plugin_->Unreserve(*placement_);
  const auto& last = cluster_.api().claims.back();
  EXPECT_EQ(std::get<Change::Release>(last.change).consumer_uid, "pod-uid") << "the reservation was written";
}

// The plugin before a reload removes the reservation, and the API server does not answer; the pod is retried
// meanwhile.
TEST_F(DynamicResourcesTest, TheNextPluginWaitsForTheEndOfAReservationThatTheFormerOneRemoves) {
  PutClaim("one");
  Bind({"one"});
  ASSERT_TRUE(result_ && result_->ok());
  std::string allocated = Allocated("g0");
  allocated.insert(allocated.rfind('}'),
                   R"(, "reservedFor": [{"resource": "pods", "name": "pod", "uid": "pod-uid"}])");
  PutClaim("one", "", allocated);
  cluster_.api().answer = Fail(ErrorCode::kUnavailable, "no connection");
  plugin_->Unreserve(*placement_);
  const std::unique_ptr<DynamicResources> former = std::exchange(plugin_, cluster_.Make<DynamicResources>());
  cluster_.api().answer = {};
  result_.reset();
  Bind({"one"});
  EXPECT_FALSE(result_.has_value()) << result_->Message();
}

TEST_F(DynamicResourcesTest, AFailedBindingFreesTheDevices) {
  PutClaim("one", R"(, "count": 2)");
  PutClaim("two");
  cluster_.api().answer = Fail(ErrorCode::kUnavailable, "no connection");
  Bind({"one"});
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->Message(), "add finalizer to claim default/one: no connection");
  plugin_->Unreserve(*placement_);
  EXPECT_EQ(Evaluate({"two"}).at("with"), Fits());
  EXPECT_EQ(cluster_.api().claims.size(), 1) << "nothing to release";
}

TEST_F(DynamicResourcesTest, AConflictIsRetriedWithTheNewestVersion) {
  PutClaim("one");
  cluster_.api().answer = Fail(ErrorCode::kConflict, "the object has been modified");
  Bind({"one"});
  ASSERT_FALSE(result_) << result_->Message();
  PutClaim("one", "", "{}", R"(, "finalizers": ["resource.kubernetes.io/delete-protection"])");
  cluster_.api().answer = {};
  cluster_.loop().Pass(std::chrono::milliseconds(10));
  ASSERT_TRUE(result_ && result_->ok());
  EXPECT_EQ(cluster_.api().claims.size(), 2);
  EXPECT_TRUE(std::holds_alternative<Change::Reserve>(cluster_.api().claims[1].change));
}

TEST_F(DynamicResourcesTest, ConflictsEndAfterFiveTries) {
  PutClaim("one");
  cluster_.api().answer = Fail(ErrorCode::kConflict, "modified");
  Bind({"one"});
  cluster_.loop().Pass(std::chrono::seconds(1));
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->Message(), "add finalizer to claim default/one: modified");
  EXPECT_EQ(cluster_.api().claims.size(), 5);
}

TEST_F(DynamicResourcesTest, DevicesStayInUseUntilTheOutcomeOfALostAllocationIsKnown) {
  const std::string kept = R"(, "finalizers": ["resource.kubernetes.io/delete-protection"])";
  for (const bool took_effect : {true, false}) {
    PutClaim("one", R"(, "count": 2)", "{}", kept);
    PutClaim("two");
    cluster_.api().claims.clear();
    result_.reset();
    cluster_.api().answer = Fail(ErrorCode::kAmbiguous, "the connection broke");
    Bind({"one"});
    EXPECT_EQ(cluster_.api().claims.size(), 1);
    cluster_.api().answer = Fail(ErrorCode::kConflict, "modified");
    cluster_.loop().Pass(std::chrono::seconds(1));
    EXPECT_EQ(cluster_.api().claims.size(), 2) << "the same write again";
    EXPECT_EQ(cluster_.api().claims[1].resource_version, "5");
    cluster_.loop().Pass(std::chrono::seconds(10));
    EXPECT_FALSE(result_) << "the watch has not delivered the change yet";
    const std::size_t sent = cluster_.api().claims.size();
    EXPECT_EQ(sent, 12) << "once per second: the conflict may not be about the claim's version";
    EXPECT_EQ(Evaluate({"two"}).at("with"), Unresolvable({"cannot allocate all claims"}));
    cluster_.api().answer = {};
    std::string status = "{}";
    if (took_effect) {
      status = Allocated("g0");
      status.insert(status.size() - 1,
                    R"(, "reservedFor": [{"resource": "pods", "name": "pod", "uid": "pod-uid"}])");
    }
    PutClaim("one", R"(, "count": 2)", status, kept + R"(, "resourceVersion": "7")");
    cluster_.loop().Pass(std::chrono::milliseconds(50));
    ASSERT_TRUE(result_ && result_->ok());
    EXPECT_EQ(cluster_.api().claims.size(), took_effect ? sent : sent + 1);
    plugin_->Unreserve(*placement_);
  }
}

TEST_F(DynamicResourcesTest, AWriteOfUnknownOutcomeEndsAfterUnreserve) {
  PutClaim("one", "", "{}", R"(, "finalizers": ["resource.kubernetes.io/delete-protection"])");
  cluster_.api().answer = Fail(ErrorCode::kAmbiguous, "the connection broke");
  Bind({"one"});
  cluster_.api().answer = Fail(ErrorCode::kConflict, "modified");
  plugin_->Unreserve(*placement_);  // the time limit of PreBind has passed
  const std::size_t sent = cluster_.api().claims.size();
  cluster_.loop().Pass(std::chrono::seconds(2));
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->Message(), "context canceled");
  EXPECT_EQ(cluster_.api().claims.size(), sent);
}

TEST_F(DynamicResourcesTest, AConflictWithoutAChangeOfTheClaimDelaysTheBinding) {
  PutClaim("one", "", "{}", R"(, "finalizers": ["resource.kubernetes.io/delete-protection"])");
  cluster_.api().answer = Fail(ErrorCode::kAmbiguous, "the connection broke");
  Bind({"one"});
  cluster_.api().answer = Fail(ErrorCode::kConflict, "a webhook has returned a conflict");
  cluster_.loop().Pass(std::chrono::milliseconds(1500));
  EXPECT_FALSE(result_);
  cluster_.api().answer = {};
  cluster_.loop().Pass(std::chrono::seconds(1));
  ASSERT_TRUE(result_) << "no newer version of the claim arrives";
  EXPECT_TRUE(result_->ok()) << result_->Message();
}

TEST_F(DynamicResourcesTest, AReservationThatIsBeingRemovedIsWrittenAgain) {
  const auto reserved = [&](const std::string& version, bool for_pod) {
    std::string status = Allocated("g0");
    if (for_pod) {
      status.insert(status.size() - 1,
                    R"(, "reservedFor": [{"resource": "pods", "name": "pod", "uid": "pod-uid"}])");
    }
    PutClaim("one", "", status, fmt::format(R"(, "resourceVersion": "{}")", version));
  };
  reserved("5", true);
  Bind({"one"});
  ASSERT_TRUE(result_ && result_->ok());
  EXPECT_TRUE(cluster_.api().claims.empty()) << "it has its reservation";
  cluster_.api().answer = Fail(ErrorCode::kAmbiguous, "the connection broke");
  plugin_->Unreserve(*placement_);
  result_.reset();
  cluster_.api().version = "7";
  Bind({"one"});
  EXPECT_FALSE(result_) << "the reservation may be removed at any time";
  cluster_.api().answer = {};
  cluster_.loop().Pass(std::chrono::seconds(1));
  EXPECT_FALSE(result_) << "the watch has not delivered the removal";
  ASSERT_EQ(cluster_.api().claims.size(), 2) << "both are removals";
  reserved("7", false);
  cluster_.loop().Pass(std::chrono::milliseconds(100));
  ASSERT_TRUE(result_ && result_->ok());
  const auto& last = std::get<Change::Reserve>(cluster_.api().claims.back().change);
  EXPECT_EQ(last.consumers.at(0).uid, "pod-uid");
}

TEST_F(DynamicResourcesTest, SharedClaimsGetAnotherConsumer) {
  PutClaim("shared", "", Allocated("g0"));
  Bind({"shared"});
  ASSERT_TRUE(result_ && result_->ok());
  const auto& reserve = std::get<Change::Reserve>(cluster_.api().claims.at(0).change);
  EXPECT_TRUE(reserve.allocation == nullptr);
  EXPECT_EQ(reserve.consumers.size(), 1);
}

TEST_F(DynamicResourcesTest, BindingWaitsForTheConditionsOfDevices) {
  const std::string conditions =
      R"(, "bindingConditions": ["Ready"], "bindingFailureConditions": ["Broken"])";
  const auto with = [&](const std::string& condition) {
    std::string status = Allocated("g0", conditions);
    status.insert(status.size() - 1, fmt::format(R"(, "reservedFor": [{{"resource": "pods", "name": "pod",
      "uid": "pod-uid"}}], "devices": [{{"driver": "d", "pool": "p", "device": "g0", "conditions": [{}]}}])",
                                                 condition));
    PutClaim("slow", "", status);
  };
  metrics::Registry registry;
  cluster_.handle().metrics = &registry;
  with("");
  Bind({"slow"});
  EXPECT_FALSE(result_);
  cluster_.loop().Pass(std::chrono::seconds(20));
  EXPECT_FALSE(result_);
  with(R"({"type": "Ready", "status": "True"})");
  cluster_.loop().Pass(std::chrono::seconds(5));
  EXPECT_TRUE(result_ && result_->ok());
  result_.reset();
  with("");
  Bind({"slow"});
  with(R"({"type": "Broken", "status": "True", "reason": "Fault", "message": "a \"b\""})");
  cluster_.loop().Pass(std::chrono::seconds(5));
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->Message(), "device binding failed: claim=slow, reason=Fault, message=\"a \\\"b\\\"\"");
  EXPECT_EQ(Evaluate({"slow"}).at("with"), Unresolvable({"resourceclaim not available on the node"}));
  const std::string text = registry.Expose();
  for (
      const char* line :
      {R"(scheduler_dra_bindingconditions_allocations_total{driver="d",profile="default-scheduler",status="failure"} 1)",
       R"(scheduler_dra_bindingconditions_allocations_total{driver="d",profile="default-scheduler",status="success"} 1)",
       R"(scheduler_dra_bindingconditions_wait_duration_seconds_count{driver="d",profile="default-scheduler",status="failure"} 1)",
       R"(scheduler_dra_bindingconditions_wait_duration_seconds_sum{driver="d",profile="default-scheduler",status="success"} 25)"})
    EXPECT_THAT(text, ::testing::HasSubstr(line));
  cluster_.handle().metrics = nullptr;
}

// --- extended resources ---

// DynamicResources calls none of these.
class NoServices final : public framework::PostFilterServices {
 public:
  explicit NoServices(cluster::NodeTable& table) : table_(table) {}
  void RunFilters(const framework::Attempt&, const RowSet&, framework::FilterOutcome&) override {}
  framework::Status AddPod(const framework::Attempt&, const cluster::PlacedPod&, cluster::Row) override {
    return {};
  }
  framework::Status RemovePod(const framework::Attempt&, const cluster::PlacedPod&, cluster::Row) override {
    return {};
  }
  bool has_extensions() const override { return false; }
  cluster::NodeTable& table() override { return table_; }
  Random* rng() override { return nullptr; }
  framework::EvictionProtections& protections() override { return protections_; }

 private:
  cluster::NodeTable& table_;
  framework::EvictionProtections protections_{{}};
};

class ExtendedResourcesTest : public DynamicResourcesTest {
 protected:
  ExtendedResourcesTest() {
    cluster_.Add(MakeNode("plugin").Allocatable("example.com/gpu", "4"));
    cluster_.Put(Read<api::DeviceClass>(R"({"metadata": {"name": "gpu"}, "spec": {
      "extendedResourceName": "example.com/gpu", "selectors": [{"cel": {"expression": "device.driver == 'd'"}}]}})"));
  }
  static api::Pod Requesting(const char* amount, const std::string& resource = "example.com/gpu") {
    api::Pod pod = MakePod("pod").Container(MakeContainer("main").Cpu("1").Request(resource, amount));
    pod.metadata.uid = "pod-uid";
    return pod;
  }
  // The claim of an earlier attempt; `spec`: JSON of its devices.
  void PutSpecial(const std::string& spec, const std::string& status = "{}") {
    cluster_.Put(Read<ResourceClaim>(fmt::format(
        R"({{"metadata": {{"namespace": "default", "name": "left", "uid": "uid-left", "resourceVersion": "5",
            "annotations": {{"resource.kubernetes.io/extended-resource-claim": "true"}},
            "finalizers": ["x", "resource.kubernetes.io/delete-protection"],
            "ownerReferences": [{{"kind": "Pod", "name": "pod", "uid": "pod-uid", "controller": true}}]}},
            "spec": {{"devices": {{{}}}}}, "status": {}}})",
        spec, status)));
  }
  static constexpr const char* kRequests =
      R"("requests": [{"name": "container-0-request-1", "exactly": {"deviceClassName": "gpu"}}])";
};

TEST_F(ExtendedResourcesTest, DevicesProvideThemWhereNoDevicePluginDoes) {
  const auto impossible = Unresolvable({"cannot allocate all claims"});
  const Verdicts some = {{"with", Fits()}, {"without", impossible}, {"plugin", Fits()}};
  const Verdicts plugin_only = {{"with", impossible}, {"without", impossible}, {"plugin", Fits()}};
  EXPECT_EQ(cluster_.Evaluate(*plugin_, Requesting("2")), some);
  EXPECT_EQ(cluster_.Evaluate(*plugin_, Requesting("3")), plugin_only);
  EXPECT_EQ(cluster_.Evaluate(*plugin_, Requesting("1", "deviceclass.resource.kubernetes.io/gpu")).at("with"),
            Fits());
  EXPECT_TRUE(PreFilter(Requesting("1", "example.com/other")).skip()) << "no class provides it";
  EXPECT_TRUE(PreFilter(Requesting("0")).skip());
}

TEST_F(ExtendedResourcesTest, ResourcesThatNobodyProvidesRejectTheNode) {
  const api::Pod pod = MakePod("pod").Container(
      MakeContainer("main").Request("example.com/gpu", "1").Request("example.com/none", "1"));
  EXPECT_EQ(cluster_.Evaluate(*plugin_, pod).at("with"), Unresolvable({"cannot fit resource"}));
}

TEST_F(ExtendedResourcesTest, TheNewestClassWithTheNameProvidesIt) {
  cluster_.Put(
      Read<api::DeviceClass>(R"({"metadata": {"name": "none", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"extendedResourceName": "example.com/gpu", "selectors": [{"cel": {"expression": "false"}}]}})"));
  EXPECT_EQ(cluster_.Evaluate(*plugin_, Requesting("1")).at("with"),
            Unresolvable({"cannot allocate all claims"}));
}

TEST_F(ExtendedResourcesTest, BindingCreatesTheClaim) {
  cluster_.api().version = "9";
  BindPod(Requesting("2"));
  ASSERT_TRUE(result_ && result_->ok()) << (result_ ? result_->Message() : "not finished");
  const auto& created = cluster_.api().created_claims;
  ASSERT_EQ(created.size(), 1);
  EXPECT_EQ(created[0].generate_name, "pod-extended-resources-");
  ASSERT_EQ(created[0].requests.size(), 1);
  EXPECT_EQ(created[0].requests[0].name, "container-0-request-1");
  EXPECT_EQ(created[0].requests[0].exactly->count, 2);
  ASSERT_EQ(cluster_.api().claims.size(), 2) << "finalizer and status";
  EXPECT_EQ(cluster_.api().claims[1].name, "created-1");
  EXPECT_EQ(std::get<Change::Reserve>(cluster_.api().claims[1].change).allocation->devices.size(), 2);
  ASSERT_EQ(cluster_.api().patches.size(), 1);
  const api::ExtendedResourceClaimStatus status{"created-1",
                                                {{"main", "example.com/gpu", "container-0-request-1"}}};
  EXPECT_EQ(cluster_.api().patches[0].extended_resource_claim, status);
  PutClaim("one");
  EXPECT_EQ(Evaluate({"one"}).at("with"), Unresolvable({"cannot allocate all claims"})) << "in use";

  plugin_->Unreserve(*placement_);
  cluster_.loop().Run();
  ASSERT_EQ(cluster_.api().deleted_claims.size(), 1);
  EXPECT_EQ(cluster_.api().deleted_claims[0].uid, "uid-created-1");
  EXPECT_TRUE(std::get<Change::SetFinalizers>(cluster_.api().claims[2].change).finalizers.empty());
  EXPECT_EQ(Evaluate({"one"}).at("with"), Fits()) << "the devices are free again";
}

TEST_F(ExtendedResourcesTest, NothingIsWrittenIfTheDevicePluginProvidesThem) {
  PutClaim("here", "", Allocated("g0", "", "plugin"));
  api::Pod pod = Requesting("2");
  BindPod(pod, "plugin");
  EXPECT_TRUE(result_ && result_->ok());
  EXPECT_TRUE(cluster_.api().claims.empty() && cluster_.api().created_claims.empty());
  pod.spec.resource_claims = std::vector<api::PodResourceClaim>{{"here", "here", std::nullopt}};
  BindPod(pod, "plugin");
  EXPECT_TRUE(result_ && result_->ok());
  EXPECT_EQ(cluster_.api().claims.size(), 1) << "the other claim is reserved";
  EXPECT_TRUE(cluster_.api().created_claims.empty());
}

TEST_F(ExtendedResourcesTest, TheClaimOfAnEarlierAttemptIsDeleted) {
  PutSpecial(kRequests, Allocated("g0"));
  const auto stale = Unresolvable({"cannot schedule extended resource claim"});
  EXPECT_EQ(cluster_.Evaluate(*plugin_, Requesting("1")),
            (Verdicts{{"with", stale}, {"without", stale}, {"plugin", stale}}));
  const auto info = cluster_.Prepare(Requesting("1"));
  framework::ScratchPool scratch;
  NoServices services(cluster_.handle().nodes);
  const auto result = plugin_->PostFilter(
      framework::Attempt(info, cluster_.handle().nodes, cluster_.state(), scratch), {}, services);
  EXPECT_EQ(result.status.Message(), "deletion of ResourceClaim completed");
  cluster_.loop().Run();
  EXPECT_EQ(std::get<Change::SetFinalizers>(cluster_.api().claims.at(0).change).finalizers,
            std::vector<std::string>{"x"});
  EXPECT_EQ(cluster_.api().deleted_claims.at(0).name, "left");
}

TEST_F(ExtendedResourcesTest, AnAllocatedClaimOfAnEarlierAttemptFailsTheBindingIfFilterIsDisabled) {
  PutSpecial(kRequests, Allocated("g0"));
  BindPod(Requesting("1"));
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->Message(),
            "nil or empty request mappings, no update of pod default/pod ExtendedResourceClaimStatus");
  EXPECT_TRUE(cluster_.api().patches.empty());
  plugin_->Unreserve(*placement_);
  cluster_.loop().Run();
  EXPECT_EQ(cluster_.api().deleted_claims.at(0).name, "left") << "the next attempt has devices";
}

TEST_F(ExtendedResourcesTest, CreatedClaimsAreCounted) {
  metrics::Registry registry;
  cluster_.handle().metrics = &registry;
  const auto counted = [&](const char* status, int count) {
    return ::testing::HasSubstr(fmt::format(
        R"(dynamic_resource_allocation_resourceclaim_creates_total{{admin_access="false",owner_api_group="",owner_api_kind="Pod",status="{}"}} {})",
        status, count));
  };
  BindPod(Requesting("1"));
  EXPECT_THAT(registry.Expose(), counted("success", 1));
  cluster_.api().answer = Fail(ErrorCode::kUnavailable, "no connection");
  BindPod(Requesting("1"));
  EXPECT_THAT(registry.Expose(), counted("success", 1));
  EXPECT_THAT(registry.Expose(), counted("failure", 1));
  cluster_.handle().metrics = nullptr;
}

TEST_F(ExtendedResourcesTest, FailuresNameTheWrite) {
  cluster_.api().answer = Fail(ErrorCode::kUnavailable, "no connection");
  BindPod(Requesting("1"));
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->Message(), "create claim for extended resources default/: no connection");
  plugin_->Unreserve(*placement_);
  EXPECT_TRUE(cluster_.api().deleted_claims.empty()) << "it was not created";
}

// Such a claim has more devices than any claim may have.
TEST(SpecialClaim, InitContainersAreNotMappedToThousandsOfRequests) {
  PodBuilder pod = MakePod("pod");
  for (int i = 0; i < 300; ++i) {
    pod.Init(MakeContainer("init-" + std::to_string(i)).Request("example.com/gpu", "9223372036854775807"))
        .Container(
            MakeContainer("app-" + std::to_string(i)).Request("example.com/gpu", "4611686018427387904"));
  }
  const std::vector<RequestedResource> resources = {{{}, "example.com/gpu", "class", 5}};
  const auto variant = MakeVariant(pod.raw(), *MakeSpecialClaim(pod.raw(), "u"), resources, {true});
  EXPECT_EQ(variant.special->requests.size(), 300U);
  EXPECT_EQ(MappingsOf(pod.raw(), resources, {true}).value().size(), 300U);
}

TEST(SpecialClaim, MoreMappingsThanAPodCanHoldAreAnError) {
  PodBuilder pod = MakePod("pod");
  for (int i = 0; i < 3500; ++i)
    pod.Init(MakeContainer("init-" + std::to_string(i)).Request("example.com/gpu", "30"));
  for (int i = 0; i < 30; ++i)
    pod.Container(MakeContainer("app-" + std::to_string(i)).Request("example.com/gpu", "1"));
  const std::vector<RequestedResource> resources = {{{}, "example.com/gpu", "class", 30}};
  const auto variant = MakeVariant(pod.raw(), *MakeSpecialClaim(pod.raw(), "u"), resources, {true});
  EXPECT_EQ(variant.special->requests.size(), 30U) << "the init containers need no further devices";
  const auto mappings = MappingsOf(pod.raw(), resources, variant.by_devices);
  ASSERT_FALSE(mappings.has_value());
  EXPECT_EQ(mappings.error().message, "more than 100000 request mappings");
}

TEST(SpecialClaim, ContainersThatDoNotRunTogetherShareRequests) {
  const auto gpu = [](const char* name, const char* amount) {
    return MakeContainer(name).Request("example.com/gpu", amount);
  };
  const api::Pod pod = MakePod("pod")
                           .Init(gpu("small", "2"))
                           .Init(gpu("large", "5"))
                           .Sidecar(gpu("sidecar", "1"))
                           .Container(gpu("main", "2"));
  const std::vector<RequestedResource> resources = {{{}, "example.com/gpu", "class", 5}};
  const auto variant = MakeVariant(pod, *MakeSpecialClaim(pod, "u"), resources, {true});
  std::vector<std::string> requests;
  for (const auto& request : variant.special->requests)
    requests.push_back(fmt::format("{} {}", request.name, request.exactly->count));
  // The init containers use the sidecar's and the main container's devices; "large" needs two more.
  EXPECT_THAT(requests,
              ElementsAre("container-1-request-0 2", "container-2-request-0 1", "container-3-request-0 2"));
  std::vector<std::string> mappings;
  const auto mapped = MappingsOf(pod, resources, {true});
  for (const auto& mapping : mapped.value())
    mappings.push_back(mapping.container_name + " " + mapping.request_name);
  EXPECT_THAT(mappings, ElementsAre("sidecar container-2-request-0", "main container-3-request-0",
                                    "small container-2-request-0", "small container-3-request-0",
                                    "large container-2-request-0", "large container-3-request-0",
                                    "large container-1-request-0"));
  EXPECT_EQ(MakeVariant(pod, *MakeSpecialClaim(pod, "u"), resources, {false}).special, nullptr);
}

// --- events and arguments ---

TEST_F(DynamicResourcesTest, PodsAreRetriedAfterChangesOfTheirClaims) {
  const auto hint = [&](const api::Pod& pod, std::shared_ptr<const ResourceClaim> before,
                        std::shared_ptr<const ResourceClaim> after) {
    const cluster::PodInfo info = cluster_.Prepare(pod);
    for (const framework::EventRegistration& registration : plugin_->EventsToRegister()) {
      if (registration.event.resource == framework::EventResource::kResourceClaim)
        return registration.hint(info, {before, after}).value();
    }
    return framework::Hint::kSkip;
  };
  PutClaim("mine");
  PutClaim("other");
  const auto& claims = cluster_.objects().Of<ResourceClaim>();
  const auto mine = claims.Find("default", "mine");
  const auto other = claims.Find("default", "other");
  auto allocated = std::make_shared<ResourceClaim>(*other);
  allocated->allocation = ResourceClaim::Allocation{};
  auto labelled = std::make_shared<ResourceClaim>(*mine);
  labelled->metadata.labels.Set("a", "b");
  auto reserved = std::make_shared<ResourceClaim>(*mine);
  reserved->reserved_for = {{"", "pods", "p", "u"}};
  const api::Pod pod = PodWith({"mine"});
  using framework::Hint;
  EXPECT_EQ(hint(pod, nullptr, mine), Hint::kQueue) << "created";
  EXPECT_EQ(hint(pod, nullptr, other), Hint::kSkip) << "created for another pod";
  EXPECT_EQ(hint(pod, mine, labelled), Hint::kSkip) << "the same status";
  EXPECT_EQ(hint(pod, mine, reserved), Hint::kQueue) << "another status";
  EXPECT_EQ(hint(pod, allocated, other), Hint::kQueue) << "deallocated";
  EXPECT_EQ(hint(pod, allocated, nullptr), Hint::kQueue) << "deleted while allocated";
  EXPECT_EQ(hint(pod, other, nullptr), Hint::kSkip) << "deleted";
  EXPECT_EQ(hint(PodWith({"missing"}), allocated, other), Hint::kSkip) << "the pod cannot run anyway";
  EXPECT_EQ(hint(PodWith({"mine", "missing"}), mine, reserved), Hint::kSkip) << "the same";
  api::Pod from_template = PodWith({"other"});
  from_template.metadata.uid = "pod-uid";
  from_template.spec.resource_claims = {{"gpu", std::nullopt, "template"}};
  from_template.status.resource_claim_statuses = {{"gpu", "mine"}};
  EXPECT_EQ(hint(from_template, nullptr, mine), Hint::kSkip) << "made for another pod";
  PutClaim("made", "", "{}",
           R"(, "ownerReferences": [{"kind": "Pod", "name": "pod", "uid": "pod-uid", "controller": true}])");
  from_template.status.resource_claim_statuses = {{"gpu", "made"}};
  EXPECT_EQ(hint(from_template, nullptr, claims.Find("default", "made")), Hint::kQueue)
      << "made from the template of the pod";
}

TEST(DynamicResources, ArgumentsAreValidatedAsInKubeScheduler) {
  Cluster cluster;
  EXPECT_TRUE(cluster.TryMake<DynamicResources>("{filterTimeout: 10s, bindingTimeout: 10m}").has_value());
  const std::pair<const char*, const char*> cases[] = {
      {"{filterTimeout: -1s}",
       "profiles[0].pluginConfig[0].args.filterTimeout: Invalid value: \"-1s\": must be zero or positive"},
      {"{bindingTimeout: 10ms}",
       "profiles[0].pluginConfig[0].args.bindingTimeout: Invalid value: \"10ms\": must be at least 1 second"},
  };
  for (const auto& [args, text] : cases) {
    const auto made = cluster.TryMake<DynamicResources>(args);
    ASSERT_FALSE(made.has_value()) << args;
    EXPECT_EQ(made.error().message, text);
  }
}

class DeviceSelectorsTest : public ::testing::Test {
 protected:
  const devices::SelectorEvaluator::Answer& Evaluate(const std::string& expression) {
    return selectors_->Evaluate(expression, "d", slice_device_);
  }

  api::Device device_;
  devices::SliceDevice slice_device_{&device_, {}, 1, {}};
  std::unique_ptr<devices::SelectorEvaluator> selectors_ = MakeDeviceSelectors();
};

// The cost of the list is 10,000, that of the comparison is 1.
TEST_F(DeviceSelectorsTest, DeepComparisonsTakeSteps) {
  const auto compared = [](const std::string& lists) {
    return "cel.bind(a, lists.range(10000), cel.bind(b, [" + lists + "], b == b))";
  };
  const std::uint64_t one = Evaluate(compared("a")).steps;
  EXPECT_GT(Evaluate(compared("a, a, a, a, a, a, a, a")).steps, one + one / 2);
}

TEST_F(DeviceSelectorsTest, AnErrorIsNotPartOfTheNextAnswer) {
  EXPECT_NE(Evaluate("1 / 0 == 1").error, "");
  Evaluate("true");
  EXPECT_EQ(Evaluate("true").error, "");
}

TEST(WeightedCache, EvictsWhatWasNotUsedForLongest) {
  WeightedCache<int> cache(10);
  cache.Add("a", 1, 4);
  cache.Add("b", 2, 4);
  EXPECT_NE(cache.Find("a"), nullptr);
  cache.Add("c", 3, 3);
  EXPECT_EQ(cache.Find("b"), nullptr);
  EXPECT_EQ(*cache.Find("a") + *cache.Find("c"), 4);
}

TEST(WeightedCache, KeepsAnEntryThatIsTooHeavyAlone) {
  WeightedCache<int> cache(10);
  cache.Add("a", 1, 4);
  cache.Add("b", 2, 11);
  EXPECT_EQ(cache.Find("a"), nullptr);
  EXPECT_EQ(*cache.Find("b"), 2);
  cache.Add("c", 3, 10);
  EXPECT_EQ(cache.Find("b"), nullptr);
}

}  // namespace
}  // namespace berth::plugins
