#include "kubernetes/client/api_writer.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/lease_fence.hpp"
#include "http/fake_loop.hpp"
#include "kubernetes/client/fake_api.hpp"

namespace berth::client {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kPost = "POST /api/v1/namespaces/default/pods/p/binding";
constexpr std::string_view kGet = "GET /api/v1/namespaces/default/pods/p";
constexpr std::string_view kPatch = "PATCH /api/v1/namespaces/default/pods/p/status";

std::string PodOn(std::string_view node, std::string_view uid = "u1") {
  return fmt::format(
      R"({{"metadata":{{"name":"p","namespace":"default","uid":"{}"}},"spec":{{"nodeName":"{}"}}}})", uid,
      node);
}

class Writer : public testing::Test {
 protected:
  void Bind(std::string name = "p") {
    writer_->Bind({.ns = "default", .name = name, .uid = "u1", .node = "n1"}, Note("bind " + name));
    loop_.Run();
  }
  void Patch(std::string message) {
    writer_->PatchPodStatus({.ns = "default",
                             .name = "p",
                             .reason = "Unschedulable",
                             .message = message,
                             .current = std::make_shared<api::Pod>()},
                            Note("patch " + message));
    loop_.Run();
  }
  ports::WriteDone Note(std::string what) {
    return [this, what = std::move(what)](Expected<> result) {
      results_.push_back(
          what + ": " +
          (result ? "done"
                  : fmt::format("{} {}", static_cast<int>(result.error().code), result.error().message)));
    };
  }
  static std::string Failed(ErrorCode code, std::string_view message, std::string_view what = "bind p") {
    return fmt::format("{}: {} {}", what, static_cast<int>(code), message);
  }

  http::FakeLoop loop_;
  FakeApi api_;
  std::vector<std::string> results_;
  LeaseFence open_ = LeaseFence::AlwaysOpen(loop_.clock());
  std::unique_ptr<ApiWriter> writer_ = std::make_unique<ApiWriter>(loop_, api_, loop_.clock(), open_);
};

TEST_F(Writer, ABindingContainsPodUidAndNode) {
  Bind();
  ASSERT_THAT(api_.sent, ElementsAre(kPost));
  EXPECT_EQ(api_.open[0].request.body,
            R"({"kind":"Binding","apiVersion":"v1","metadata":{"name":"p","namespace":"default","uid":"u1"},)"
            R"("target":{"kind":"Node","name":"n1"}})");
  EXPECT_THAT(results_, IsEmpty());
  api_.Answer("{}");
  EXPECT_THAT(results_, ElementsAre("bind p: done"));
}

TEST_F(Writer, AConflictIsFinalForABinding) {
  Bind();
  api_.Answer(Refused(409, "Conflict"));
  EXPECT_THAT(results_, ElementsAre(Failed(ErrorCode::kConflict, "Conflict")));
}

struct AgainCase {
  std::string name;
  Reply failure;
  bool may_have_bound;
};
class WriterRetries : public Writer, public testing::WithParamInterface<AgainCase> {};
TEST_P(WriterRetries, FourTimesInAllWithGrowingDelays) {
  Bind();
  for (const Duration delay : {10ms, 50ms, 250ms}) {
    api_.Answer(GetParam().failure);
    ASSERT_THAT(api_.open, IsEmpty());
    EXPECT_GE(loop_.delays().back(), delay);
    EXPECT_LE(loop_.delays().back(), delay * 11 / 10);
    loop_.Advance(delay * 2);
  }
  EXPECT_THAT(results_, IsEmpty());
  api_.Answer(GetParam().failure);
  if (GetParam().may_have_bound) {
    EXPECT_THAT(api_.sent, ElementsAre(kPost, kPost, kPost, kPost, kGet));
    EXPECT_THAT(results_, IsEmpty());
    api_.Answer(PodOn(""));
  } else {
    EXPECT_THAT(api_.sent, ElementsAre(kPost, kPost, kPost, kPost));
  }
  const RequestError& error = GetParam().failure.error();
  EXPECT_THAT(results_, ElementsAre(Failed(error.code, error.message)));
  EXPECT_THAT(api_.open, IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(
    Table, WriterRetries,
    testing::Values(AgainCase{"AfterAnInternalError", Refused(500, "InternalError"), true},
                    AgainCase{"AfterAFailureWithoutReason", Refused(500, ""), true},
                    AgainCase{"AfterServiceUnavailable", Refused(503, "ServiceUnavailable"), true},
                    AgainCase{"WhenNothingWasSent", NotReached(), false}),
    [](const auto& row) { return row.param.name; });

TEST_F(Writer, ABindingWhoseLastAttemptFailsInTheServerSucceedsIfThePodIsOnItsNode) {
  Bind();
  for (int i = 0; i < 4; ++i) {
    api_.Answer(Refused(500, ""));
    loop_.Advance(300ms);
  }
  EXPECT_THAT(api_.sent, ElementsAre(kPost, kPost, kPost, kPost, kGet));
  api_.Answer(PodOn("n1"));
  EXPECT_THAT(results_, ElementsAre("bind p: done"));
}

struct LostCase {
  std::string name;
  Reply pod;
  std::string want;
};
class WriterResolves : public Writer, public testing::WithParamInterface<LostCase> {};
TEST_P(WriterResolves, AfterALostResponseByReadingThePod) {
  Bind();
  api_.Answer(AnswerLost());
  ASSERT_THAT(api_.sent, ElementsAre(kPost, kGet));
  api_.Answer(GetParam().pod);
  EXPECT_THAT(results_, ElementsAre(GetParam().want));
}
INSTANTIATE_TEST_SUITE_P(
    Table, WriterResolves,
    testing::Values(LostCase{"BoundToOurNode", PodOn("n1"), "bind p: done"},
                    LostCase{"BoundElsewhere", PodOn("n2"),
                             fmt::format("bind p: {} pod p is already assigned to node \"n2\"",
                                         static_cast<int>(ErrorCode::kConflict))},
                    LostCase{"CreatedAgain", PodOn("n1", "u2"),
                             fmt::format("bind p: {} the pod was deleted and created again",
                                         static_cast<int>(ErrorCode::kConflict))},
                    LostCase{"Deleted", Refused(404, "NotFound"),
                             fmt::format("bind p: {} NotFound", static_cast<int>(ErrorCode::kNotFound))}),
    [](const auto& row) { return row.param.name; });

TEST_F(Writer, AnUnboundPodAfterALostResponseIsBoundAgain) {
  Bind();
  api_.Answer(AnswerLost());
  api_.Answer(PodOn(""));
  loop_.Advance(20ms);
  EXPECT_THAT(api_.sent, ElementsAre(kPost, kGet, kPost));
  api_.Answer("{}");
  EXPECT_THAT(results_, ElementsAre("bind p: done"));
}

TEST_F(Writer, AServerTimeoutWhileThePodIsReadDoesNotEndTheBinding) {
  Bind();
  api_.Answer(AnswerLost());
  api_.Answer(Refused(504, "Timeout"));
  loop_.Advance(20ms);
  EXPECT_THAT(api_.sent, ElementsAre(kPost, kGet, kGet));
  api_.Answer(PodOn("n1"));
  EXPECT_THAT(results_, ElementsAre("bind p: done"));
}

TEST_F(Writer, AFailureOfTheServerWhileThePodIsReadDoesNotEndTheBinding) {
  Bind();
  api_.Answer(AnswerLost());
  for (const Reply& failure : {Refused(500, ""), Refused(429, "TooManyRequests")}) {
    api_.Answer(failure);
    loop_.Advance(100ms);
  }
  EXPECT_THAT(api_.sent, ElementsAre(kPost, kGet, kGet, kGet));
  api_.Answer(PodOn("n1"));
  EXPECT_THAT(results_, ElementsAre("bind p: done"));
}

TEST_F(Writer, AConflictAfterAnAmbiguousAttemptMayBeItsOwnSuccess) {
  for (const char* reason : {"InternalError", ""}) {
    api_.sent.clear();
    results_.clear();
    Bind();
    api_.Answer(Refused(500, reason));
    loop_.Advance(20ms);
    api_.Answer(Refused(409, "Conflict"));
    EXPECT_THAT(api_.sent, ElementsAre(kPost, kPost, kGet));
    api_.Answer(PodOn("n1"));
    EXPECT_THAT(results_, ElementsAre("bind p: done"));
  }
}

TEST_F(Writer, AConflictAfterARepetitionByTheClientMayBeItsOwnSuccess) {
  Bind();
  Reply conflict = Refused(409, "Conflict");
  conflict.error().repeated = true;
  api_.Answer(conflict);
  EXPECT_THAT(api_.sent, ElementsAre(kPost, kGet));
  api_.Answer(PodOn("n1"));
  EXPECT_THAT(results_, ElementsAre("bind p: done"));
}

TEST_F(Writer, ARejectionAfterAnAmbiguousAttemptDoesNotUndoItsSuccess) {
  Bind();
  api_.Answer(Refused(500, "InternalError"));
  loop_.Advance(20ms);
  api_.Answer(Refused(403, "Forbidden"));
  EXPECT_THAT(api_.sent, ElementsAre(kPost, kPost, kGet));
  api_.Answer(PodOn("n1"));
  EXPECT_THAT(results_, ElementsAre("bind p: done"));
}

TEST_F(Writer, ARejectionOfAnUnboundPodIsFinal) {
  Bind();
  api_.Answer(Refused(500, "InternalError"));
  loop_.Advance(20ms);
  api_.Answer(Refused(403, "Forbidden"));
  api_.Answer(PodOn(""));
  EXPECT_THAT(api_.sent, ElementsAre(kPost, kPost, kGet));
  EXPECT_THAT(results_,
              ElementsAre(fmt::format("bind p: {} Forbidden", static_cast<int>(ErrorCode::kInternal))));
}

TEST_F(Writer, APatchIsAStrategicMerge) {
  Patch("m");
  ASSERT_THAT(api_.sent, ElementsAre(kPatch));
  EXPECT_EQ(api_.open[0].request.content_type, "application/strategic-merge-patch+json");
  api_.Answer(AnswerLost());
  loop_.Advance(20ms);
  EXPECT_THAT(api_.sent, SizeIs(2)) << "a patch is idempotent";
  api_.Answer("{}");
  EXPECT_THAT(results_, ElementsAre("patch m: done"));
}

TEST_F(Writer, APatchThatChangesNothingIsNotSent) {
  auto pod = std::make_shared<api::Pod>();
  pod->status.conditions.push_back(
      {.type = "PodScheduled", .status = "False", .reason = "r", .message = "m", .last_transition_time = ""});
  writer_->PatchPodStatus({.ns = "default", .name = "p", .reason = "r", .message = "m", .current = pod},
                          Note("patch"));
  loop_.Run();
  EXPECT_THAT(api_.sent, IsEmpty());
  EXPECT_THAT(results_, ElementsAre("patch: done"));
}

TEST_F(Writer, ABindingNeverOvertakesThePatchBeforeIt) {
  Patch("m");
  Bind();
  EXPECT_THAT(api_.sent, ElementsAre(kPatch));
  api_.Answer("{}");
  EXPECT_THAT(api_.sent, ElementsAre(kPatch, kPost));
}

TEST_F(Writer, WaitingPatchesAreDroppedForLaterWrites) {
  Patch("1");
  Patch("2");
  Patch("3");
  Bind();
  EXPECT_THAT(results_, ElementsAre(HasSubstr("patch 2: "), HasSubstr("patch 3: ")));
  api_.Answer("{}");
  api_.Answer("{}");
  EXPECT_THAT(api_.sent, ElementsAre(kPatch, kPost));
  EXPECT_THAT(results_, testing::Contains("bind p: done"));
}

TEST_F(Writer, ALaterPatchInheritsWhatOnlyTheEarlierOneContains) {
  auto pod = std::make_shared<api::Pod>();
  pod->status.nominated_node_name = "n1";
  Bind();
  writer_->PatchPodStatus({.ns = "default", .name = "p", .current = pod, .nomination = ""}, Note("clear"));
  writer_->PatchPodStatus({.ns = "default", .name = "p", .reason = "r", .message = "m", .current = pod},
                          Note("patch"));
  loop_.Run();
  api_.Answer("{}");
  EXPECT_THAT(api_.open[0].request.body, HasSubstr(R"("nominatedNodeName":null)"));
  EXPECT_THAT(api_.open[0].request.body, HasSubstr(R"("message":"m")"));
}

TEST_F(Writer, APatchOfAnotherConditionIsKept) {
  Patch("1");
  Patch("2");
  writer_->PatchPodStatus({.ns = "default",
                           .name = "p",
                           .type = "DisruptionTarget",
                           .status = "True",
                           .reason = "PreemptionByScheduler",
                           .current = std::make_shared<api::Pod>()},
                          Note("disruption"));
  loop_.Run();
  for (int i = 0; i < 3; ++i) api_.Answer("{}");
  EXPECT_THAT(results_, ElementsAre("patch 1: done", "patch 2: done", "disruption: done"));
}

struct DeletionCase {
  std::string name;
  Reply answer;
  std::string want;
};
class WriterDeletes : public Writer, public testing::WithParamInterface<DeletionCase> {};
TEST_P(WriterDeletes, APodByItsUid) {
  writer_->DeletePod({.ns = "default", .name = "p", .uid = "u1"}, Note("delete"));
  loop_.Run();
  ASSERT_THAT(api_.sent, ElementsAre("DELETE /api/v1/namespaces/default/pods/p"));
  EXPECT_EQ(api_.open[0].request.body,
            R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u1"}})");
  api_.Answer(GetParam().answer);
  EXPECT_THAT(results_, ElementsAre(GetParam().want));
}
INSTANTIATE_TEST_SUITE_P(
    Table, WriterDeletes,
    testing::Values(DeletionCase{"ThatIsThere", "{}", "delete: done"},
                    DeletionCase{"ThatIsGone", Refused(404, "NotFound"),
                                 fmt::format("delete: {} NotFound", static_cast<int>(ErrorCode::kNotFound))},
                    DeletionCase{"WhoseNameHasAnotherPod", Refused(409, "Conflict"),
                                 fmt::format("delete: {} Conflict", static_cast<int>(ErrorCode::kNotFound))}),
    [](const auto& row) { return row.param.name; });

TEST_F(Writer, ADeletionFollowsThePatchBeforeItAndIsRetriedAfterALostResponse) {
  Patch("m");
  writer_->DeletePod({.ns = "default", .name = "p", .uid = "u1"}, Note("delete"));
  loop_.Run();
  EXPECT_THAT(api_.sent, ElementsAre(kPatch));
  api_.Answer("{}");
  api_.Answer(AnswerLost());
  loop_.Advance(20ms);
  EXPECT_THAT(api_.sent, SizeIs(3));
  api_.Answer("{}");
  EXPECT_THAT(results_, ElementsAre("patch m: done", "delete: done"));
}

TEST_F(Writer, LimitsWritesInFlightAndKeepsTheirOrder) {
  writer_ =
      std::make_unique<ApiWriter>(loop_, api_, loop_.clock(), open_, ApiWriterOptions{.max_in_flight = 2});
  for (const char* name : {"a", "b", "c", "d"}) Bind(name);
  EXPECT_THAT(api_.open, SizeIs(2));
  EXPECT_EQ(writer_->Backlog(), 2U);
  while (!api_.open.empty()) api_.Answer("{}");
  EXPECT_THAT(results_, ElementsAre("bind a: done", "bind b: done", "bind c: done", "bind d: done"));
}

TEST_F(Writer, SlowWritesOfANamespaceDoNotStopThoseOfOthers) {
  writer_ = std::make_unique<ApiWriter>(loop_, api_, loop_.clock(), open_,
                                        ApiWriterOptions{.max_in_flight = 3, .max_of_namespace = 2});
  Bind("a");
  writer_->DeleteClaim({.ns = "default", .name = "claim", .uid = "u"}, [](auto) {});
  Bind("b");
  writer_->Bind({.ns = "other", .name = "p", .uid = "u", .node = "n"}, Note("other"));
  loop_.Run();
  EXPECT_THAT(api_.sent, ElementsAre(testing::StrEq("POST /api/v1/namespaces/default/pods/a/binding"),
                                     HasSubstr("/claim"),
                                     testing::StrEq("POST /api/v1/namespaces/other/pods/p/binding")));
  EXPECT_EQ(writer_->Backlog(), 1U);
}

TEST_F(Writer, DestructionEndsEveryCall) {
  Bind("a");
  Bind("b");
  api_.Answer(NotReached());
  writer_.reset();
  EXPECT_THAT(results_, SizeIs(2));
  EXPECT_THAT(api_.open, IsEmpty());
  EXPECT_EQ(loop_.timers(), 0U);
}

// --- volumes and claims

class VolumeWriter : public Writer {
 protected:
  ports::VersionDone NoteVersion() {
    return [this](Expected<std::string> version) {
      results_.push_back(version ? "version " + *version : "failed: " + version.error().message);
    };
  }
  void ClaimVolume() {
    writer_->ClaimVolume({"v", "7", ports::VolumeClaimed::Claim{"ns", "c", "u", "3"}, true}, NoteVersion());
    loop_.Run();
  }
};

TEST_F(VolumeWriter, AVolumeIsBoundWithItsVersionAsPrecondition) {
  ClaimVolume();
  ASSERT_THAT(api_.sent, ElementsAre("PATCH /api/v1/persistentvolumes/v"));
  EXPECT_EQ(api_.open[0].request.content_type, "application/merge-patch+json");
  EXPECT_EQ(
      api_.open[0].request.body,
      R"({"metadata":{"resourceVersion":"7","annotations":{"pv.kubernetes.io/bound-by-controller":"yes"}},)"
      R"("spec":{"claimRef":{"kind":"PersistentVolumeClaim","namespace":"ns","name":"c","uid":"u",)"
      R"("apiVersion":"v1","resourceVersion":"3"}}})");
  api_.Answer(R"({"kind":"PersistentVolume","metadata":{"name":"v","resourceVersion":"8"}})");
  EXPECT_THAT(results_, ElementsAre("version 8"));
}

TEST_F(VolumeWriter, AClaimGetsItsSelectedNode) {
  writer_->SelectNode({"ns", "c", "3", "n1"}, NoteVersion());
  loop_.Run();
  ASSERT_THAT(api_.sent, ElementsAre("PATCH /api/v1/namespaces/ns/persistentvolumeclaims/c"));
  EXPECT_EQ(
      api_.open[0].request.body,
      R"({"metadata":{"resourceVersion":"3","annotations":{"volume.kubernetes.io/selected-node":"n1"}}})");
}

TEST_F(VolumeWriter, AConcurrentChangeIsAConflict) {
  ClaimVolume();
  api_.Answer(Refused(409, "Conflict"));
  EXPECT_THAT(results_, ElementsAre("failed: Conflict"));
}

// --- claims of devices

class ClaimWriter : public VolumeWriter {
 protected:
  using Change = ports::ClaimChange;
  template <class T>
  void Write(T change) {
    writer_->ChangeClaim({"ns", "c", "3", std::move(change)}, NoteVersion());
    loop_.Run();
  }
  const std::string& body() const { return api_.open[0].request.body; }
};

TEST_F(ClaimWriter, FinalizersAreWrittenToTheClaim) {
  Write(Change::SetFinalizers{{"a", "b"}});
  ASSERT_THAT(api_.sent, ElementsAre("PATCH /apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/c"));
  EXPECT_EQ(api_.open[0].request.content_type, "application/merge-patch+json");
  EXPECT_EQ(body(), R"({"metadata":{"resourceVersion":"3","finalizers":["a","b"]}})");
  api_.Answer(R"({"kind":"ResourceClaim","metadata":{"name":"c","resourceVersion":"4"}})");
  EXPECT_THAT(results_, ElementsAre("version 4"));
}

TEST_F(ClaimWriter, AllocationAndConsumersAreWrittenToTheStatus) {
  auto allocation = std::make_shared<api::ResourceClaim::Allocation>();
  api::ResourceClaim::AllocatedDevice device;
  device.request = "r";
  device.driver = "d";
  device.pool = "p";
  device.device = "0";
  allocation->devices.push_back(device);
  device.admin_access = true;
  device.tolerations = {{"k", "Equal", "v", "NoSchedule", 5}};
  device.binding_conditions = {"Ready"};
  device.binding_failure_conditions = {"Failed"};
  device.share_id = "s";
  device.consumed_capacity = {{"memory", api::Quantity::FromInteger(2)}};
  allocation->devices.push_back(device);
  allocation->config = {{"FromClass", {{}, R"({"opaque":{"driver":"d","parameters":{"a:b":1}}})"}},
                        {"FromClaim", {{"r"}, "{}"}}};
  allocation->node_selector =
      api::NodeSelector{{{{{"zone", "In", {"a"}}}, {{"metadata.name", "In", {"n"}}}}}};
  Write(Change::Reserve{allocation, false, {{"", "pods", "pod", "u"}}});
  ASSERT_THAT(api_.sent, ElementsAre("PATCH /apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/c/status"));
  EXPECT_EQ(body(),
            R"({"metadata":{"resourceVersion":"3"},"status":{"allocation":{"devices":{"results":[)"
            R"({"request":"r","driver":"d","pool":"p","device":"0"},)"
            R"({"request":"r","driver":"d","pool":"p","device":"0","adminAccess":true,"tolerations":[)"
            R"({"key":"k","operator":"Equal","value":"v","effect":"NoSchedule","tolerationSeconds":5}],)"
            R"("bindingConditions":["Ready"],"bindingFailureConditions":["Failed"],"shareID":"s",)"
            R"("consumedCapacity":{"memory":"2"}}],"config":[)"
            R"({"source":"FromClass","opaque":{"driver":"d","parameters":{"a:b":1}}},)"
            R"({"source":"FromClaim","requests":["r"]}]},"nodeSelector":{"nodeSelectorTerms":[)"
            R"({"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}],)"
            R"("matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]}]}},)"
            R"("reservedFor":[{"resource":"pods","name":"pod","uid":"u"}]}})");
}

TEST_F(ClaimWriter, TheTimeOfAnAllocationIsThatOfTheWrite) {
  Write(Change::Reserve{nullptr, true, {}});
  EXPECT_EQ(body(), fmt::format(R"({{"metadata":{{"resourceVersion":"3"}},"status":{{"allocation":)"
                                R"({{"allocationTimestamp":"{}"}},"reservedFor":[]}}}})",
                                FormatTime(loop_.clock().WallNow())));
}

TEST_F(ClaimWriter, AllocationsAndConsumersAreRemoved) {
  Write(Change::Deallocate{});
  EXPECT_EQ(
      body(),
      R"({"metadata":{"resourceVersion":"3"},"status":{"allocation":null,"reservedFor":null,"devices":null}})");
  api_.Answer(Refused(409, "Conflict"));
  EXPECT_THAT(results_, ElementsAre("failed: Conflict"));
  Write(Change::Release{"claim-uid", "pod-uid"});
  EXPECT_EQ(api_.open[0].request.content_type, "application/strategic-merge-patch+json");
  EXPECT_EQ(
      body(),
      R"({"metadata":{"uid":"claim-uid"},"status":{"reservedFor":[{"$patch":"delete","uid":"pod-uid"}]}})");
}

TEST_F(ClaimWriter, ClaimsForExtendedResourcesAreCreatedOnce) {
  const auto create = [&] {
    ports::NewClaim claim{"ns", "pod-extended-resources-", "pod", "u", {}};
    api::ResourceClaim::Request& request = claim.requests.emplace_back();
    request.name = "container-0-request-1";
    request.exactly.emplace();
    request.exactly->device_class_name = "gpu";
    request.exactly->allocation_mode = "ExactCount";
    request.exactly->count = 2;
    writer_->CreateClaim(std::move(claim), [this](Expected<ports::CreatedClaim> created) {
      results_.push_back(created ? created->name + " " + created->uid + " " + created->resource_version
                                 : "failed: " + created.error().message);
    });
    loop_.Run();
  };
  create();
  ASSERT_THAT(api_.sent, ElementsAre("POST /apis/resource.k8s.io/v1/namespaces/ns/resourceclaims"));
  EXPECT_EQ(body(), R"({"kind":"ResourceClaim","apiVersion":"resource.k8s.io/v1","metadata":{)"
                    R"("generateName":"pod-extended-resources-","namespace":"ns",)"
                    R"("annotations":{"resource.kubernetes.io/extended-resource-claim":"true"},)"
                    R"("ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"pod","uid":"u",)"
                    R"("controller":true}]},"spec":{"devices":{"requests":[{"name":"container-0-request-1",)"
                    R"("exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":2}}]}}})");
  api_.Answer(R"({"kind":"ResourceClaim","metadata":{"name":"made","uid":"m","resourceVersion":"4"}})");
  EXPECT_THAT(results_, ElementsAre("made m 4"));
  create();
  api_.Answer(Refused(500, "InternalError"));
  EXPECT_THAT(results_, ElementsAre("made m 4", "failed: InternalError")) << "the claim may exist";
  create();
  EXPECT_TRUE(api_.open[0].request.single_attempt);
  Reply throttled = Refused(429, "TooManyRequests");
  throttled.error().retry_after_seconds = 2;
  api_.Answer(throttled);
  EXPECT_EQ(loop_.delays().back(), 2s);
  loop_.Advance(2s);
  EXPECT_THAT(api_.open, SizeIs(1)) << "a throttled request was not executed";
  api_.Answer(R"({"kind":"ResourceClaim","metadata":{"name":"made","uid":"n","resourceVersion":"5"}})");
  EXPECT_EQ(results_.back(), "made n 5");
}

TEST_F(ClaimWriter, ClaimsAreWrittenInTheVersionOfTheServer) {
  const auto create = [&] {
    ports::NewClaim claim{"ns", "pod-extended-resources-", "pod", "u", {}};
    api::ResourceClaim::Request& request = claim.requests.emplace_back();
    request.name = "r";
    request.exactly.emplace();
    request.exactly->device_class_name = "gpu";
    request.exactly->allocation_mode = "ExactCount";
    request.exactly->count = 2;
    writer_->CreateClaim(std::move(claim), [](const Expected<ports::CreatedClaim>&) {});
    loop_.Run();
  };
  writer_->SetClaimVersion("v1beta1");
  Write(Change::SetFinalizers{{"a"}});
  api_.Answer(R"({"kind":"ResourceClaim","metadata":{"name":"c","resourceVersion":"4"}})");
  Write(Change::Reserve{nullptr, false, {}});
  api_.Answer(R"({"kind":"ResourceClaim","metadata":{"name":"c","resourceVersion":"5"}})");
  create();
  EXPECT_THAT(body(), HasSubstr(R"("apiVersion":"resource.k8s.io/v1beta1")"));
  EXPECT_THAT(
      body(),
      HasSubstr(
          R"("requests":[{"name":"r","deviceClassName":"gpu","allocationMode":"ExactCount","count":2}])"))
      << "without exactly";
  api_.Answer(R"({"kind":"ResourceClaim","metadata":{"name":"made","uid":"m","resourceVersion":"6"}})");
  writer_->SetClaimVersion("v1beta2");
  create();
  EXPECT_THAT(body(), HasSubstr(R"("apiVersion":"resource.k8s.io/v1beta2")"));
  EXPECT_THAT(body(), HasSubstr(R"("exactly":{)"));
  api_.Answer(R"({"kind":"ResourceClaim","metadata":{"name":"made","uid":"m","resourceVersion":"6"}})");
  writer_->DeleteClaim({"ns", "c", "u"}, [](const Expected<void>&) {});
  loop_.Run();
  api_.Answer(R"({"kind":"Status"})");
  EXPECT_THAT(api_.sent,
              ElementsAre("PATCH /apis/resource.k8s.io/v1beta1/namespaces/ns/resourceclaims/c",
                          "PATCH /apis/resource.k8s.io/v1beta1/namespaces/ns/resourceclaims/c/status",
                          "POST /apis/resource.k8s.io/v1beta1/namespaces/ns/resourceclaims",
                          "POST /apis/resource.k8s.io/v1beta2/namespaces/ns/resourceclaims",
                          "DELETE /apis/resource.k8s.io/v1beta2/namespaces/ns/resourceclaims/c"));
}

TEST_F(ClaimWriter, ADeletionNamesTheUidOfTheClaim) {
  writer_->DeleteClaim({"ns", "c", "u"}, [this](Expected<void> done) {
    results_.push_back(done ? "deleted" : "failed: " + done.error().message);
  });
  loop_.Run();
  ASSERT_THAT(api_.sent, ElementsAre("DELETE /apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/c"));
  EXPECT_EQ(body(), R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u"}})");
  api_.Answer(R"({"kind":"Status"})");
  EXPECT_THAT(results_, ElementsAre("deleted"));
}

// Calls the check that the API makes before it sends a request.
TEST_F(Writer, TheFenceIsCheckedWhenAWriteIsSentNotWhenItIsQueued) {
  LeaseFence fence(loop_.clock());
  writer_ = std::make_unique<ApiWriter>(loop_, api_, loop_.clock(), fence);
  Bind();
  Patch("m");
  writer_->DeletePod({.ns = "default", .name = "q", .uid = "u2"}, Note("delete q"));
  writer_->ClaimVolume({.name = "v", .resource_version = "1", .claim = {}}, [](auto) {});
  writer_->SelectNode({.ns = "default", .name = "c", .resource_version = "1", .node = "n"}, [](auto) {});
  loop_.Run();
  ASSERT_THAT(api_.open, SizeIs(4)) << "the patch waits behind the binding";
  for (const auto& call : api_.open) {
    ASSERT_TRUE(call.request.refused) << call.request.path;
    EXPECT_EQ(call.request.refused(), "not the leader any more") << call.request.path;
  }
  fence.Renewed(loop_.clock().BootNow(), 15s);
  EXPECT_EQ(api_.open[0].request.refused(), std::nullopt);
  api_.Answer(
      std::unexpected(RequestError{.code = ErrorCode::kCancelled, .message = "not the leader any more"}));
  EXPECT_THAT(results_, ElementsAre(Failed(ErrorCode::kCancelled, "not the leader any more")));
}

TEST_F(Writer, AReadDoesNotNeedTheLease) {
  LeaseFence fence(loop_.clock());
  writer_ = std::make_unique<ApiWriter>(loop_, api_, loop_.clock(), fence);
  Bind();
  api_.Answer(AnswerLost());
  ASSERT_THAT(api_.sent, ElementsAre(kPost, kGet));
  EXPECT_FALSE(api_.open[0].request.refused);
}

TEST_F(Writer, WhenIdleIsCalledWhenNothingIsLeft) {
  int idle = 0;
  writer_->WhenIdle([&] { ++idle; });
  loop_.Run();
  EXPECT_EQ(idle, 1);
  Bind();
  Patch("m");
  writer_->WhenIdle([&] { ++idle; });
  loop_.Run();
  api_.Answer("{}");
  EXPECT_EQ(idle, 1) << "the patch is under way";
  api_.Answer("{}");
  EXPECT_EQ(idle, 2);
}

}  // namespace
}  // namespace berth::client
