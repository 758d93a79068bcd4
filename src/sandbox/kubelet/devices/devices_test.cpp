// Simulated devices: their description, their slices, and pods that use them.
#include <gmock/gmock.h>

#include "sandbox/cluster/fake_live_cluster.hpp"
#include "sandbox/cluster/persistence/dump.hpp"
#include "sandbox/cluster/persistence/load.hpp"
#include "sandbox/kubelet/devices/device_groups.hpp"
#include "sandbox/kubelet/node_groups.hpp"
#include "sandbox/kubelet/node_pool.hpp"

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

const std::string kGroup = "/apis/resource.k8s.io/v1";

// --- descriptions ---

// The slices of the first pool, as JSON.
std::vector<std::string> SlicesOf(std::string_view devices) {
  const auto groups = ParseDevices(devices);
  EXPECT_TRUE(groups.has_value()) << (groups ? "" : groups.error().message);
  std::vector<std::string> texts;
  if (!groups) return texts;
  const std::vector<DevicePool> pools = PoolsOf(*groups);
  for (const auto& slice : pools.at(0).slices) texts.push_back(json::serialize(slice));
  return texts;
}

TEST(DeviceDescription, ValuesHaveTheTypesOfTheFile) {
  EXPECT_THAT(
      SlicesOf(
          R"([{"attributes":{"model":"A100","numa":1,"ecc":false,"driver":{"version":"1.2.3"}},"capacity":{"memory":"81920Mi"}}])"),
      ElementsAre(
          R"({"devices":[{"name":"gpu-0","attributes":{"model":{"string":"A100"},"numa":{"int":1},"ecc":{"bool":false},"driver":{"version":"1.2.3"}},"capacity":{"memory":{"value":"80Gi"}}}]})"));
}

TEST(DeviceDescription, DevicesAreNumberedThroughOnANode) {
  EXPECT_THAT(
      SlicesOf(R"([{"count":2,"name":"gpu-##"},{"name":"gpu-##","attributes":{"numa":1}}])"),
      ElementsAre(
          R"({"devices":[{"name":"gpu-00"},{"name":"gpu-01"},{"name":"gpu-02","attributes":{"numa":{"int":1}}}]})"));
}

TEST(DeviceDescription, PartitionsConsumeTheCountersOfTheirDevice) {
  EXPECT_THAT(
      SlicesOf(
          R"([{"capacity":{"memory":"80Gi"},"partitions":[{"count":2,"name":"half-#","attributes":{"profile":"half"},"capacity":{"memory":"40Gi"}}]}])"),
      ElementsAre(
          R"({"sharedCounters":[{"name":"gpu-0","counters":{"memory":{"value":"80Gi"}}}]})",
          R"({"devices":[)"
          R"({"name":"gpu-0","capacity":{"memory":{"value":"80Gi"}},"consumesCounters":[{"counterSet":"gpu-0","counters":{"memory":{"value":"80Gi"}}}]},)"
          R"({"name":"gpu-0-half-0","attributes":{"profile":{"string":"half"}},"capacity":{"memory":{"value":"40Gi"}},"consumesCounters":[{"counterSet":"gpu-0","counters":{"memory":{"value":"40Gi"}}}]},)"
          R"({"name":"gpu-0-half-1","attributes":{"profile":{"string":"half"}},"capacity":{"memory":{"value":"40Gi"}},"consumesCounters":[{"counterSet":"gpu-0","counters":{"memory":{"value":"40Gi"}}}]}]})"));
}

TEST(DeviceDescription, ASharedDeviceHasAPolicy) {
  EXPECT_THAT(
      SlicesOf(
          R"([{"shared":true,"capacity":{"memory":{"value":"8Gi","default":"1Gi","min":"1Gi","step":"1Gi"}},"taints":["k=v:NoSchedule"]}])"),
      ElementsAre(
          R"({"devices":[{"name":"gpu-0","capacity":{"memory":{"value":"8Gi","requestPolicy":{"default":"1Gi","validRange":{"min":"1Gi","step":"1Gi"}}}},"taints":[{"key":"k","value":"v","effect":"NoSchedule"}],"allowMultipleAllocations":true}]})"));
}

TEST(DeviceDescription, ManyDevicesAreDividedIntoSlices) {
  EXPECT_THAT(SlicesOf(R"([{"count":300}])"), SizeIs(3));
  EXPECT_THAT(SlicesOf(R"([{"count":300,"taints":["k:None"]}])"), SizeIs(5));
  // 20 sets of counters in 3 slices, 60 devices.
  EXPECT_THAT(
      SlicesOf(
          R"([{"count":20,"capacity":{"m":"2"},"partitions":[{"count":2,"name":"p#","capacity":{"m":"1"}}]}])"),
      SizeIs(4));
}

TEST(DeviceDescription, DriversHavePoolsOfTheirOwn) {
  const auto groups =
      ParseDevices(R"([{"driver":"b.example"},{"driver":"a.example"},{"driver":"b.example","name":"x"}])");
  ASSERT_TRUE(groups.has_value());
  const auto pools = PoolsOf(*groups);
  ASSERT_THAT(pools, SizeIs(2));
  EXPECT_EQ(pools[0].driver, "b.example");
  EXPECT_EQ(json::serialize(pools[0].slices[0]), R"({"devices":[{"name":"gpu-0"},{"name":"x"}]})");
}

TEST(DeviceDescription, GpusAreDividedBetweenTwoNumaNodes) {
  const auto groups = ParseDevices(GpuDevices(3));
  ASSERT_TRUE(groups.has_value());
  ASSERT_THAT(*groups, SizeIs(2));
  EXPECT_EQ((*groups)[0].count, 2);
  EXPECT_EQ((*groups)[1].count, 1);
  EXPECT_THAT(*ParseDevices(GpuDevices(1)), SizeIs(1));
}

struct MalformedDevices {
  std::string name;
  std::string devices;
  std::string message;  // a part of it
};
void PrintTo(const MalformedDevices& row, std::ostream* out) { *out << row.name; }
class DeviceErrors : public testing::TestWithParam<MalformedDevices> {};
TEST_P(DeviceErrors, HavePathValueAndReason) {
  const auto groups = ParseDevices(GetParam().devices);
  ASSERT_FALSE(groups.has_value());
  EXPECT_THAT(groups.error().message, HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    Table, DeviceErrors,
    testing::Values(
        MalformedDevices{"NotAList", R"({"count":1})", "devices"},
        MalformedDevices{"AnUnknownField", R"([{"cuont":1}])", "unknown field \"devices[0].cuont\""},
        MalformedDevices{"NoDevices", R"([{"count":0}])",
                         "devices[0].count: Invalid value: \"0\": must be between 1 and 4096"},
        MalformedDevices{"TooManyDevices", R"([{"count":4000},{"count":97,"name":"x#"}])",
                         "devices: Invalid value: \"4097\": a node can have at most 4096 devices"},
        MalformedDevices{"ManyOfOneName", R"([{"count":2,"name":"gpu"}])",
                         "devices[0].name: Invalid value: \"gpu\": needs # for the number, as in \"gpu-##\""},
        MalformedDevices{"AnUpperCaseName", R"([{"name":"GPU-#"}])",
                         "must be made of at most 63 lower case letters"},
        MalformedDevices{"ADriverThatIsNoDomain", R"([{"driver":"gpu_driver"}])",
                         "devices[0].driver: Invalid value: \"gpu_driver\": must be a DNS name"},
        MalformedDevices{"AnAttributeWithADash", R"([{"attributes":{"gpu-model":"x"}}])",
                         "devices[0].attributes: Invalid value: \"gpu-model\": must be an identifier"},
        MalformedDevices{
            "AFraction", R"([{"attributes":{"speed":1.5}}])",
            "devices[0].attributes[speed]: Invalid value: \"1.5\": must be text, a whole number"},
        MalformedDevices{"AWrongVersion", R"([{"attributes":{"v":{"version":"1.2"}}}])",
                         "devices[0].attributes[v]: Invalid value: \"1.2\": must be a semantic version"},
        MalformedDevices{
            "ANegativeCapacity", R"([{"capacity":{"memory":"-1Gi"}}])",
            "devices[0].capacity[memory]: Invalid value: \"-1Gi\": must be a quantity that is not negative"},
        MalformedDevices{"APolicyOfAnExclusiveDevice", R"([{"capacity":{"memory":{"value":"1Gi"}}}])",
                         "devices[0].capacity[memory]: Invalid value"},
        MalformedDevices{"ADefaultBelowTheMinimum",
                         R"([{"shared":true,"capacity":{"m":{"value":"8","default":"1","min":"2"}}}])",
                         "default is less than min: 2"},
        MalformedDevices{"AnUnknownEffect", R"([{"taints":["k:NoSchedul"]}])",
                         "did you mean \"NoSchedule\"?"},
        MalformedDevices{"AnUnknownAttachment", R"([{"attach":"later"}])",
                         "devices[0].attach: Invalid value: \"later\": must be a duration"},
        MalformedDevices{"APartitionWithoutCapacity", R"([{"capacity":{"m":1},"partitions":[{"name":"p"}]}])",
                         "devices[0].partitions[0].capacity: Required value"},
        MalformedDevices{
            "APartitionLargerThanItsDevice",
            R"([{"capacity":{"m":1},"partitions":[{"name":"p","capacity":{"m":2}}]}])",
            "devices[0].partitions[0].capacity[m]: Invalid value: \"2\": is more than the 1 of the device"},
        MalformedDevices{"APartitionOfNothing", R"([{"partitions":[{"name":"p","capacity":{"m":2}}]}])",
                         "the device does not have this capacity"},
        MalformedDevices{
            "PartitionsOfASharedDevice",
            R"([{"shared":true,"capacity":{"m":1},"partitions":[{"name":"p","capacity":{"m":1}}]}])",
            "a shared device cannot have partitions"},
        MalformedDevices{"TwoDevicesOfOneName",
                         R"([{"name":"a"},{"name":"a-#"},{"name":"b"},{"name":"a-0"}])",
                         "Duplicate value: \"a-0\""}),
    [](const auto& row) { return row.param.name; });

TEST(DeviceDescription, ANodesFileReportsTheirErrorsWithThePathOfTheGroup) {
  const auto groups = ParseNodeGroups("groups:\n- name: n1\n  devices:\n  - {count: 0}\n");
  ASSERT_FALSE(groups.has_value());
  EXPECT_THAT(groups.error().message, HasSubstr("groups[0].devices[0].count: Invalid value: \"0\""));
}

// --- slices ---

struct DevicePools : testing::Test {
  LiveCluster cluster;

  void MakeNode(std::string_view devices) {
    const json::object annotations{{kDevices, devices}};
    const auto made = cluster.Create(
        "/api/v1/nodes",
        fmt::format(R"({{"metadata":{{"name":"n1","annotations":{}}}}})", json::serialize(annotations)));
    ASSERT_EQ(made.status, 201) << made.text;
    cluster.Pass(10ms);
  }
  void Annotate(std::string_view key, std::string_view value) {
    const json::object annotations{{key, value}};
    cluster.Patch("/api/v1/nodes/n1",
                  fmt::format(R"({{"metadata":{{"annotations":{}}}}})", json::serialize(annotations)));
    cluster.Pass(10ms);
  }
  // "d.example/1 of 2: a b" for each slice: driver, generation, number of slices in the pool, devices.
  std::vector<std::string> Slices() {
    std::vector<std::string> texts;
    for (const auto& [_, slice] : cluster.store.All(Kinds().resource_slices)) {
      const Document document = slice->Parse();
      const json::object& spec = ObjectOrEmpty(document.root(), "spec");
      std::string devices;
      for (const auto& device : ArrayOrEmpty(spec, "devices")) devices += " " + At(device, "name");
      texts.push_back(fmt::format("{}/{} of {}:{}", At(spec, "driver"), At(spec, "pool.generation"),
                                  At(spec, "pool.resourceSliceCount"), devices));
    }
    return texts;
  }
  std::string FirstSlice() { return cluster.store.All(Kinds().resource_slices).begin()->second->name; }
};

TEST_F(DevicePools, ANodePublishesItsDevices) {
  MakeNode(R"([{"count":2}])");
  EXPECT_THAT(Slices(), ElementsAre("gpu.example.com/1 of 1: gpu-0 gpu-1"));
  const auto slice = cluster.Get(kGroup + "/resourceslices/" + FirstSlice()).Json();
  EXPECT_EQ(At(slice, "metadata.generateName"), "00000-gpu.example.com-n1-");
  EXPECT_EQ(At(slice, "spec.nodeName"), "n1");
  EXPECT_EQ(At(slice, "spec.pool.name"), "n1");
  const auto owner = slice.at("metadata").at("ownerReferences").as_array()[0];
  EXPECT_EQ(At(owner, "kind") + "/" + At(owner, "name"), "Node/n1");
}

TEST_F(DevicePools, AnotherDescriptionUpdatesTheOnlySlice) {
  MakeNode(R"([{"count":2}])");
  Annotate(kDevices, R"([{"count":3}])");
  EXPECT_THAT(Slices(), ElementsAre("gpu.example.com/1 of 1: gpu-0 gpu-1 gpu-2"));
}

TEST_F(DevicePools, SeveralChangedSlicesAreANewGeneration) {
  MakeNode(R"([{"count":200}])");
  Annotate(kDevices, R"([{"count":200,"attributes":{"a":1}}])");
  ASSERT_THAT(Slices(), SizeIs(2));
  EXPECT_THAT(Slices()[0], testing::StartsWith("gpu.example.com/2 of 2: gpu-0 "));
  EXPECT_THAT(Slices()[1], testing::StartsWith("gpu.example.com/2 of 2: gpu-128 "));
}

TEST_F(DevicePools, ADriverWithoutDevicesHasNoSlices) {
  MakeNode(R"([{},{"driver":"nic.example","name":"eth-#"}])");
  EXPECT_THAT(Slices(), ElementsAre("gpu.example.com/1 of 1: gpu-0", "nic.example/1 of 1: eth-0"));
  Annotate(kDevices, R"([{"driver":"nic.example","name":"eth-#"}])");
  EXPECT_THAT(Slices(), ElementsAre("nic.example/1 of 1: eth-0"));
  Annotate(kDevices, "");
  EXPECT_THAT(Slices(), ElementsAre());
}

TEST_F(DevicePools, AMalformedDescriptionIsAnEventAndChangesNothing) {
  MakeNode(R"([{"count":2}])");
  Annotate(kDevices, R"([{"count":-1}])");
  EXPECT_THAT(Slices(), ElementsAre("gpu.example.com/1 of 1: gpu-0 gpu-1"));
  EXPECT_THAT(cluster.Events("InvalidDevices"),
              ElementsAre(HasSubstr("devices[0].count: Invalid value: \"-1\": must be between 1 and 4096")));
}

TEST_F(DevicePools, ADeletedSliceIsPublishedAgain) {
  MakeNode(R"([{"count":2}])");
  cluster.Do("DELETE", kGroup + "/resourceslices/" + FirstSlice());
  cluster.Pass(20s);
  EXPECT_THAT(Slices(), ElementsAre());
  cluster.Pass(20s);
  EXPECT_THAT(Slices(), ElementsAre("gpu.example.com/1 of 1: gpu-0 gpu-1"));
}

TEST_F(DevicePools, AChangedSliceIsRestored) {
  MakeNode(R"([{"count":2,"taints":["k:NoSchedule"]}])");
  const std::string path = kGroup + "/resourceslices/" + FirstSlice();
  const std::string taints = At(cluster.Get(path).Json().at("spec").at("devices").as_array()[0], "taints");
  cluster.Patch(path, R"({"spec":{"devices":[{"name":"other"}]}})", "merge");
  cluster.Pass(40s);
  EXPECT_THAT(Slices(), ElementsAre("gpu.example.com/1 of 1: gpu-0 gpu-1"));
  const std::string version = At(cluster.Get(path).Json(), "metadata.resourceVersion");
  EXPECT_THAT(taints, HasSubstr("timeAdded"));
  Annotate("note", "x");  // an unchanged description writes nothing, although taints have times
  cluster.Pass(40s);
  EXPECT_EQ(At(cluster.Get(path).Json(), "metadata.resourceVersion"), version);
}

TEST_F(DevicePools, SlicesOfClientsAreLeftAlone) {
  MakeNode(R"([{}])");
  cluster.Create(kGroup + "/resourceslices",
                 R"({"metadata":{"name":"own"},"spec":{"driver":"gpu.example.com","nodeName":"n1",
                     "pool":{"name":"own","resourceSliceCount":1},"devices":[{"name":"x"}]}})");
  Annotate(kDevices, "");
  cluster.Pass(40s);
  EXPECT_THAT(Slices(), ElementsAre("gpu.example.com/0 of 1: x"));
}

TEST_F(DevicePools, SlicesAreRemovedWithTheirNode) {
  MakeNode(R"([{"count":2}])");
  cluster.Do("DELETE", "/api/v1/nodes/n1");
  cluster.Pass(1s);
  EXPECT_THAT(Slices(), ElementsAre());
}

TEST_F(DevicePools, ASilentNodePublishesWhenItIsMended) {
  MakeNode(R"([{}])");
  Annotate(kFailure, "silent");
  Annotate(kDevices, R"([{"count":2}])");
  EXPECT_THAT(Slices(), ElementsAre("gpu.example.com/1 of 1: gpu-0"));
  cluster.Patch("/api/v1/nodes/n1",
                fmt::format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})", kFailure));
  cluster.Pass(10ms);
  EXPECT_THAT(Slices(), ElementsAre("gpu.example.com/1 of 1: gpu-0 gpu-1"));
}

TEST_F(DevicePools, SavedSlicesAreTakenOver) {
  MakeNode(R"([{"count":2,"taints":["k:NoSchedule"]}])");
  LiveCluster restored;
  const auto loaded = LoadObjects(restored.verbs, DumpObjects(cluster.store, DumpFormat::kJson));
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  restored.Pass(60s);
  const auto& slices = restored.store.All(Kinds().resource_slices);
  ASSERT_EQ(slices.size(), 1U);
  EXPECT_EQ(slices.begin()->second->name, FirstSlice());
}

TEST_F(DevicePools, GpuNodesOfferDevicesInPlaceOfTheExtendedResource) {
  NodePoolOptions pool;
  pool.gpu_nodes = 1;
  pool.gpu_claims = true;
  ASSERT_TRUE(CreateNodes(cluster.verbs, cluster.random, pool).has_value());
  cluster.Pass(10ms);
  EXPECT_THAT(Slices(),
              ElementsAre("gpu.example.com/1 of 1: gpu-0 gpu-1 gpu-2 gpu-3 gpu-4 gpu-5 gpu-6 gpu-7"));
  const auto node = cluster.Get("/api/v1/nodes/gpu-0001").Json();
  EXPECT_FALSE(node.at("status").at("capacity").as_object().contains("nvidia.com/gpu"));
  EXPECT_EQ(At(cluster.Get(kGroup + "/deviceclasses/gpu.example.com").Json(), "spec.extendedResourceName"),
            "nvidia.com/gpu");
}

TEST_F(DevicePools, ANodesFileDescribesDevicesAndGetsTheirClasses) {
  NodePoolOptions pool;
  const auto groups = ParseNodeGroups(R"(
groups:
- count: 2
  name: gpu-#
  devices:
  - {count: 2, attributes: {model: A100}}
  - {driver: nic.example, name: eth-#}
)");
  ASSERT_TRUE(groups.has_value());
  pool.groups = *groups;
  ASSERT_TRUE(CreateNodes(cluster.verbs, cluster.random, pool).has_value());
  cluster.Pass(10ms);
  EXPECT_THAT(Slices(), SizeIs(4));
  EXPECT_EQ(cluster.Get(kGroup + "/deviceclasses/gpu.example.com").status, 200);
  EXPECT_EQ(cluster.Get(kGroup + "/deviceclasses/nic.example").status, 200);
}

// --- binding conditions ---

struct AttachCase {
  std::string name;
  std::string attach;
  std::vector<std::string> conditions;  // after 0, 1 and 3 seconds
};
void PrintTo(const AttachCase& row, std::ostream* out) { *out << row.name; }
class Attachments : public testing::TestWithParam<AttachCase> {};
TEST_P(Attachments, SetTheConditionsOfAllocatedDevices) {
  LiveCluster cluster;
  const json::object annotations{{kDevices, fmt::format(R"([{{"attach":"{}"}}])", GetParam().attach)}};
  cluster.Create("/api/v1/nodes", fmt::format(R"({{"metadata":{{"name":"n1","annotations":{}}}}})",
                                              json::serialize(annotations)));
  cluster.Make(
      kGroup, "resourceclaims",
      R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"x"}}]}}})");
  const std::string claim = kGroup + "/namespaces/default/resourceclaims/c";
  const auto allocated = cluster.Patch(
      claim + "/status",
      fmt::format(
          R"({{"status":{{"allocation":{{"allocationTimestamp":"{}","devices":{{"results":[{{"request":"r","driver":"gpu.example.com","pool":"n1","device":"gpu-0","bindingConditions":["{}"],"bindingFailureConditions":["{}"]}}]}}}}}}}})",
          FormatTime(cluster.clock.WallNow()), kAttached, kAttachFailed),
      "merge");
  ASSERT_EQ(allocated.status, 200) << allocated.text;
  const auto conditions = [&](Duration time) {
    cluster.Pass(time);
    const auto document = cluster.Get(claim).Json();
    const json::array* devices = FindArray(document.as_object(), "status.devices");
    return devices == nullptr ? std::string() : At(devices->at(0).at("conditions").as_array()[0], "type");
  };
  const std::vector<std::string> seen = {conditions(1ms), conditions(1s), conditions(2s)};
  EXPECT_EQ(seen, GetParam().conditions);
}
INSTANTIATE_TEST_SUITE_P(
    Table, Attachments,
    testing::Values(
        AttachCase{"AtOnce", "0s", {std::string(kAttached), std::string(kAttached), std::string(kAttached)}},
        AttachCase{"AfterTwoSeconds", "2s", {"", "", std::string(kAttached)}},
        AttachCase{"Never", "never", {"", "", ""}},
        AttachCase{"Failing",
                   "fail",
                   {std::string(kAttachFailed), std::string(kAttachFailed), std::string(kAttachFailed)}}),
    [](const auto& row) { return row.param.name; });

// --- pods ---

struct PreparedPod : testing::Test {
  LiveCluster cluster;

  PreparedPod() {
    cluster.scheduling = false;
    cluster.CreateNodes(1);
    cluster.Make(
        kGroup, "resourceclaims",
        R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"x"}}]}}})");
    cluster.CreatePod("p", R"("resourceClaims":[{"name":"gpu","resourceClaimName":"c"}])");
  }
  // Bound by a client: the claim controller reserves a claim as soon as it is allocated.
  void Allocate() {
    const auto written = cluster.Patch(
        kGroup + "/namespaces/default/resourceclaims/c/status",
        R"({"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d.example","pool":"n1","device":"gpu-0"}]}}}})",
        "merge");
    ASSERT_EQ(written.status, 200) << written.text;
  }
  std::string Reason() {
    const auto pod = cluster.Pod("p");
    const json::array* statuses = FindArray(pod.as_object(), "status.containerStatuses");
    return statuses == nullptr ? "" : At(statuses->at(0), "state.waiting.reason");
  }
};

TEST_F(PreparedPod, WaitsUntilItsClaimIsReserved) {
  cluster.Bind("p", "n1");
  cluster.Pass(1s);
  EXPECT_EQ(At(cluster.Pod("p"), "status.phase"), "Pending");
  EXPECT_EQ(Reason(), "ContainerCreating");
  const std::string uid = At(cluster.Pod("p"), "metadata.uid");
  const std::string claim =
      At(cluster.Get(kGroup + "/namespaces/default/resourceclaims/c").Json(), "metadata.uid");
  EXPECT_THAT(
      cluster.Events("FailedPrepareDynamicResources"),
      ElementsAre(fmt::format("Failed to prepare dynamic resources: prepare dynamic resources: pod p ({}) "
                              "is not allowed to use ResourceClaim c ({})",
                              uid, claim)));
  Allocate();
  cluster.Pass(5s);
  EXPECT_EQ(At(cluster.Pod("p"), "status.phase"), "Pending");  // the kubelet tries again after ten seconds
  cluster.Pass(5s);
  EXPECT_EQ(At(cluster.Pod("p"), "status.phase"), "Running");
}

TEST_F(PreparedPod, StartsAtOnceWithAnAllocatedClaim) {
  Allocate();
  cluster.Bind("p", "n1");
  cluster.Pass(1s);
  EXPECT_EQ(At(cluster.Pod("p"), "status.phase"), "Running");
  EXPECT_THAT(cluster.Events("FailedPrepareDynamicResources"), ElementsAre());
}

TEST_F(PreparedPod, ReportsAMissingClaim) {
  cluster.Do("DELETE", kGroup + "/namespaces/default/resourceclaims/c");
  cluster.Bind("p", "n1");
  cluster.Pass(1s);
  EXPECT_THAT(
      cluster.Events("FailedPrepareDynamicResources"),
      ElementsAre(HasSubstr("fetch ResourceClaim c: resourceclaims.resource.k8s.io \"c\" not found")));
}

TEST_F(PreparedPod, ReportsAClaimThatWasNotMadeFromItsTemplate) {
  cluster.CreatePod("q", R"("resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"t"}])");
  cluster.Bind("q", "n1");
  cluster.Pass(1s);
  EXPECT_THAT(cluster.Events("FailedPrepareDynamicResources"),
              ElementsAre(HasSubstr("pod \"default/q\": ResourceClaim not created yet")));
}

}  // namespace
}  // namespace berth::sandbox
