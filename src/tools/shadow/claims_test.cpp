// Comparisons of allocated devices.
#include <fmt/format.h>

#include "tools/shadow/fake_scheduler.hpp"

namespace berth::shadow {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// Nodes n1 and n2 with two devices each.
class ShadowDevices : public ShadowTest {
 protected:
  ShadowDevices() {
    for (const char* node : {"n1", "n2"}) {
      Node(Roomy(node));
      Put<api::ResourceSlice>(node, fmt::format(R"({{"metadata": {{"name": "{0}"}}, "spec": {{"driver": "d",
        "nodeName": "{0}", "pool": {{"name": "{0}", "resourceSliceCount": 1}},
        "devices": [{{"name": "g0"}}, {{"name": "g1"}}]}}}})",
                                                node));
    }
    Put<api::DeviceClass>("gpu", R"({"metadata": {"name": "gpu"}, "spec": {
      "extendedResourceName": "example.com/gpu", "selectors": [{"cel": {"expression": "device.driver == 'd'"}}]}})");
  }

  // A claim with one request; `device` of `node` is allocated to it for the pod, or empty.
  void Claim(const std::string& name, const std::string& device = "", const std::string& node = "n1",
             const std::string& pod = "web", const std::string& more = "") {
    std::string status;
    if (!device.empty()) {
      status = fmt::format(R"("allocation": {{"devices": {{"results": [{{"request": "r", "driver": "d",
        "pool": "{0}", "device": "{1}"}}]}}, "nodeSelector": {{"nodeSelectorTerms": [{{"matchFields": [
        {{"key": "metadata.name", "operator": "In", "values": ["{0}"]}}]}}]}}}},
        "reservedFor": [{{"resource": "pods", "name": "{2}", "uid": "u-{2}"}}])",
                           node, device, pod);
    }
    Put<api::ResourceClaim>(name, fmt::format(R"({{"metadata": {{"namespace": "default", "name": "{0}",
      "uid": "uid-{0}"{2}}}, "spec": {{"devices": {{"requests": [{{"name": "r", "exactly": {{
      "deviceClassName": "gpu"}}}}]}}}}, "status": {{{1}}}}})",
                                              name, status, more));
  }
  static api::Pod With(const std::string& claim, const std::string& name = "web") {
    api::Pod pod = Small(name);
    pod.metadata.uid = "u-" + name;
    pod.spec.resource_claims = std::vector<api::PodResourceClaim>{{claim, claim, std::nullopt}};
    return pod;
  }
};

TEST_F(ShadowDevices, TheDevicesOfTheOtherSchedulerAreCompared) {
  Sync();
  Claim("c");
  Pod(With("c"));
  Claim("c", "g0");
  Binds("web", "n1");
  EXPECT_EQ(Only(), "tie") << "compared without the allocation: both nodes have devices";

  Claim("e");
  Pod(With("e", "next"));
  Claim("e", "g0", "n2", "next");
  Binds("next", "n2");
  EXPECT_EQ(Only(), "same tie") << "the other pod uses n1";
}

TEST_F(ShadowDevices, OtherDevicesAreADisagreement) {
  Sync();
  Claim("c");
  Pod(With("c"));
  Claim("c", "g1");
  Binds("web", "n1");
  Complete();
  EXPECT_EQ(Only(), "devices");
  ASSERT_THAT(report->Disagreements(), SizeIs(1));
  const Comparison found = report->Disagreements().front();
  EXPECT_EQ(found.verdict(), Verdict::kDisagreed);
  EXPECT_EQ(found.plugin, "DynamicResources");
  EXPECT_EQ(found.reference.devices, "default/c: r=d/n1/g1");
  EXPECT_EQ(found.candidate.devices, "default/c: r=d/n1/g0");
  EXPECT_THAT(ToText(found), HasSubstr("; DynamicResources: other devices; the other scheduler's devices: "
                                       "default/c: r=d/n1/g1, Berth's: default/c: r=d/n1/g0"));
  EXPECT_THAT(ToJson(found), HasSubstr(R"("reference":{"node":"n1","devices":"default/c: r=d/n1/g1"})"));
}

TEST_F(ShadowDevices, AnAllocationOfAnotherPodThatWasNotObservedYetExplainsOtherDevices) {
  Sync();
  Claim("a");
  Claim("b");
  Pod(With("a", "first"));
  Pod(With("b", "second"));
  // The other scheduler has assumed g0 for the first pod when it decides about the second one.
  Claim("b", "g1", "n1", "second");
  Binds("second", "n1");
  Claim("a", "g0", "n1", "first");
  Binds("first", "n1");
  Complete();
  EXPECT_THAT(Only(), HasSubstr("raced"));
  EXPECT_THAT(report->Disagreements(), SizeIs(0));
}

TEST_F(ShadowDevices, AllocationsMayArriveAfterTheBinding) {
  Sync();
  Claim("c");
  Pod(With("c"));
  Binds("web", "n1");
  EXPECT_EQ(Only(), "") << "waits for the claim";
  Claim("c", "g1");
  Complete();
  EXPECT_EQ(Only(), "devices");
}

// A state of one moment, or with one step out of its order, has room on n1, n2 or n3.
TEST_F(ShadowDevices, SeveralReleasedDevicesThatWereNotObservedExplainAFailureTogether) {
  for (const char* node : {"n1", "n2"}) {
    for (const char* device : {"g0", "g1"})
      Claim(std::string(node) + device, device, node, std::string("user-of-") + node + device);
  }
  Node(Roomy("n3"));
  Put<api::ResourceSlice>("n3", R"({"metadata": {"name": "n3"}, "spec": {"driver": "d", "nodeName": "n3",
    "pool": {"name": "n3", "resourceSliceCount": 1}, "devices": [{"name": "g0"}]}})");
  Sync();
  Claim("c");
  Pod(With("c"));
  Put<api::ResourceClaim>("n1g0", "");
  Node(Roomy("n3").Cordoned());  // the other scheduler has observed this
  Put<api::ResourceClaim>("n2g1", "");
  for (int i = 0; i < 20; ++i) Node(Roomy("n3").Cordoned().Label("change", std::to_string(i)));
  Fails(
      "web",
      "0/3 nodes are available: 1 node(s) were unschedulable, 2 cannot allocate all claims. preemption: 0/3 "
      "nodes are available: 3 Preemption is not helpful for scheduling.");
  Complete();
  ASSERT_EQ(Only(), "raced");
  EXPECT_EQ(report->Explained().front().because,
            "decided before it observed resourceClaim default/n1g0 gone, resourceClaim default/n2g1 gone");
}

TEST_F(ShadowDevices, ClaimsForExtendedResourcesAreCompared) {
  const std::string special = R"(, "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
    "ownerReferences": [{"kind": "Pod", "name": "web", "uid": "u-web", "controller": true}])";
  for (const char* device : {"g0", "g1"}) {
    Begin({});
    nodes.clear();
    pods.clear();
    objects = {};
    for (const char* node : {"n1", "n2"}) Node(Roomy(node));
    Put<api::ResourceSlice>("n1", R"({"metadata": {"name": "n1"}, "spec": {"driver": "d", "nodeName": "n1",
      "pool": {"name": "n1", "resourceSliceCount": 1}, "devices": [{"name": "g0"}, {"name": "g1"}]}})");
    Put<api::DeviceClass>("gpu", R"({"metadata": {"name": "gpu"}, "spec": {"extendedResourceName":
      "example.com/gpu", "selectors": [{"cel": {"expression": "device.driver == 'd'"}}]}})");
    Sync();
    api::Pod pod = Small("web").Request("example.com/gpu", "1");
    pod.metadata.uid = "u-web";
    Pod(pod);
    Claim("made", "", "n1", "web", special);
    Put<api::ResourceClaim>("made", fmt::format(R"({{"metadata": {{"namespace": "default", "name": "made",
      "uid": "uid-made"{}}}, "spec": {{"devices": {{"requests": [{{"name": "container-0-request-1", "exactly": {{
      "deviceClassName": "gpu"}}}}]}}}}, "status": {{"allocation": {{"devices": {{"results": [{{
      "request": "container-0-request-1", "driver": "d", "pool": "n1", "device": "{}"}}]}}}},
      "reservedFor": [{{"resource": "pods", "name": "web", "uid": "u-web"}}]}}}})",
                                                special, device));
    Binds("web", "n1");
    Complete();
    EXPECT_EQ(Only(), std::string(device) == "g0" ? "same" : "devices") << device;
  }
}

// Before the pod found a node, kube-scheduler did not find one, because it had not observed a deletion.
TEST_F(ShadowDevices, TheClaimThatALaterAttemptCreatesIsNotThereInAnEarlierOne) {
  for (const char* node : {"n1", "n2"}) Node(Roomy(node).Cpu("2"));
  for (const char* node : {"n1", "n2"}) {
    api::Pod old = MakePod(fmt::format("on-{}", node)).Cpu("2").OnNode(node);
    Pod(old);
  }
  Sync();
  api::Pod pod = MakePod("web").Cpu("2").Request("example.com/gpu", "1");
  pod.metadata.uid = "u-web";
  Pod(pod);
  Gone("on-n1");
  Fails("web",
        "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 No preemption "
        "victims "
        "found for incoming pod.");
  const std::string special = R"(, "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
    "ownerReferences": [{"kind": "Pod", "name": "web", "uid": "u-web", "controller": true}])";
  Claim("made", "", "n1", "", special);
  Claim("made", "g0", "n1", "web", special);
  Binds("web", "n1");
  Complete();
  EXPECT_EQ(report->Count(Outcome::kPlaceable), 0U);
  ASSERT_EQ(report->Explained().size(), 1U);
  EXPECT_EQ(report->Explained().front().because, "decided before it observed pod default/on-n1 gone");
}

TEST_F(ShadowDevices, AClaimThatWasAllocatedBeforeStaysAllocated) {
  Claim("c", "g1", "n1", "earlier");
  Sync();
  Pod(With("c"));
  Binds("web", "n1");
  EXPECT_EQ(Only(), "same") << "the claim is usable on this node only";
}

TEST_F(ShadowDevices, TheNodeAnnouncedBeforeTheBindingIsNoFailure) {
  Claim("taken", "g0", "n1", "other");
  Claim("c");
  Sync();
  Pod(With("c"));
  Fails("web", "0/2 nodes are available: 2 cannot allocate all claims.");
  EXPECT_EQ(report->Count(Outcome::kPlaceable), 0U) << "waits";
  Complete();
  EXPECT_EQ(Only(), "placeable");
  // kube-scheduler writes the node into the nomination before it writes the claim.
  api::Pod announced = *pods["web"];
  announced.status.nominated_node_name = "n1";
  Pod(announced);
  Complete();
  EXPECT_EQ(Only(), "placeable") << "not compared again";
  Claim("c", "g1");
  Binds("web", "n1");
  Complete();
  EXPECT_EQ(report->Count(Outcome::kDevices), 0U);
  EXPECT_EQ(report->Count(Outcome::kPlaceable), 1U);
}

// Nodes n1 and n2 have 8 CPUs each. n2 runs a pod with 2, so n1 is better as long as it is empty.
class ShadowAnnouncements : public ShadowDevices {
 protected:
  ShadowAnnouncements() {
    api::Pod other = MakePod("other").Cpu("2").Memory("1Gi").OnNode("n2");
    Pod(other);
    Claim("c");
    Sync();
    api::Pod first = With("c", "first");
    first.spec.containers.front().resources.requests["cpu"] = api::Quantity::Parse("5").value();
    Pod(first);
    Pod(MakePod("second").Cpu("5").Memory("1Gi"));
  }
  void Announce(const std::string& name, const std::string& node) {
    api::Pod announced = *pods[name];
    announced.status.nominated_node_name = node;
    Pod(announced);
  }
  std::size_t OnNodes() { return engine->cache().pod_count(); }
};

TEST_F(ShadowAnnouncements, AnAnnouncedPodUsesItsNodeBeforeItIsBound) {
  Announce("first", "n1");
  Binds("second", "n2");
  EXPECT_EQ(Only(), "same") << "n1 has no room for the second pod";
  EXPECT_EQ(OnNodes(), 3U);
  Claim("c", "g0", "n1", "first");
  Binds("first", "n1");
  EXPECT_EQ(Only(), "same x2") << "the pod does not use its node twice";
  EXPECT_EQ(OnNodes(), 3U);
}

TEST_F(ShadowAnnouncements, AnAnnouncementThatArrivesLaterExplainsABinding) {
  Binds("second", "n2");
  EXPECT_EQ(Only(), "") << "n1 is better; waits";
  Announce("first", "n1");
  Complete();
  EXPECT_EQ(Only(), "raced");
  EXPECT_THAT(ToText(report->Explained().front()), HasSubstr("pod default/first on n1"));
  EXPECT_EQ(OnNodes(), 3U);
}

TEST_F(ShadowAnnouncements, AWithdrawnAnnouncementFreesTheNode) {
  Announce("first", "n1");
  Fails("first", "binding rejected", "", "SchedulerError");
  EXPECT_EQ(OnNodes(), 1U);
  Binds("second", "n1");
  EXPECT_EQ(report->Count(Outcome::kSame), 1U);
  Announce("first", "n2");
  EXPECT_EQ(OnNodes(), 3U);
  Gone("first");
  EXPECT_EQ(OnNodes(), 2U);
}

TEST_F(ShadowAnnouncements, ASearchRestoresAnnouncedPods) {
  Announce("first", "n1");
  // No state explains this: n3 never exists.
  Binds("second", "n3");
  Pod(MakePod("third").Cpu("1").Memory("1Gi"));
  Gone("other");
  Complete();
  EXPECT_EQ(report->Count(Outcome::kInfeasible), 1U);
  EXPECT_EQ(OnNodes(), 2U);
  Binds("third", "n2");
  EXPECT_EQ(report->Count(Outcome::kSame), 1U) << "n1 is used by the announced pod";
}

}  // namespace
}  // namespace berth::shadow
