// Claims, classes, slices and taint rules from a client's view: defaults, validation, status, tables.
#include <gmock/gmock.h>

#include "sandbox/cluster/test_cluster.hpp"

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string kGroup = "/apis/resource.k8s.io/v1";
const std::string kClaims = kGroup + "/namespaces/default/resourceclaims";
const std::string kTemplates = kGroup + "/namespaces/default/resourceclaimtemplates";

// The spec of a claim with one request.
std::string ClaimSpec(std::string_view exactly = R"("deviceClassName":"gpu")") {
  return fmt::format(R"({{"devices":{{"requests":[{{"name":"r","exactly":{{{}}}}}]}}}})", exactly);
}
std::string Claim(std::string_view spec) {
  return fmt::format(R"({{"metadata":{{"name":"c"}},"spec":{}}})", spec);
}
std::string Slice(std::string_view spec) {
  return fmt::format(
      R"({{"metadata":{{"name":"s"}},"spec":{{"driver":"d.example","nodeName":"n1","pool":{{"name":"n1","resourceSliceCount":1}},{}}}}})",
      spec);
}
std::string Devices(std::string_view device) {
  return Slice(fmt::format(R"("devices":[{{"name":"gpu-0"{}{}}}])", device.empty() ? "" : ",", device));
}
std::string ManyDevices(std::size_t count, std::string_view device) {
  std::string devices;
  for (std::size_t i = 0; i < count; ++i)
    devices += fmt::format(R"({}{{"name":"gpu-{}"{}}})", i > 0 ? "," : "", i, device);
  return Slice(fmt::format(R"("devices":[{}])", devices));
}
std::string Class(std::string_view spec) {
  return fmt::format(R"({{"metadata":{{"name":"gpu"}},"spec":{{{}}}}})", spec);
}

struct DeviceCluster : TestCluster {
  RecordedResponse CreateClaim(std::string_view spec = ClaimSpec()) { return Create(kClaims, Claim(spec)); }
  // Writes the status of the claim c.
  RecordedResponse WriteStatus(std::string_view status) {
    return Patch(kClaims + "/c/status", fmt::format(R"({{"status":{}}})", status), "merge");
  }
  json::value ReadClaim() { return Get(kClaims + "/c").Json(); }
};
constexpr std::string_view kAllocation =
    R"({"devices":{"results":[{"request":"r","driver":"d.example","pool":"n1","device":"gpu-0"}]}})";
constexpr std::string_view kConsumer = R"({"resource":"pods","name":"p","uid":"u"})";

// --- defaults ---

TEST(DeviceDefaults, ARequestIsForOneDevice) {
  DeviceCluster cluster;
  const auto claim =
      cluster.CreateClaim(ClaimSpec(R"("deviceClassName":"gpu","tolerations":[{"key":"k"}])")).Json();
  const auto& exactly = claim.at("spec").at("devices").at("requests").as_array()[0].at("exactly").as_object();
  EXPECT_EQ(At(exactly, "allocationMode"), "ExactCount");
  EXPECT_EQ(At(exactly, "count"), "1");
  EXPECT_EQ(At(exactly.at("tolerations").as_array()[0], "operator"), "Equal");
}

TEST(DeviceDefaults, ARequestForAllDevicesHasNoCount) {
  DeviceCluster cluster;
  const auto claim =
      cluster.CreateClaim(ClaimSpec(R"("deviceClassName":"gpu","allocationMode":"All")")).Json();
  const auto& exactly = claim.at("spec").at("devices").at("requests").as_array()[0].at("exactly").as_object();
  EXPECT_FALSE(exactly.contains("count"));
}

TEST(DeviceDefaults, AlternativesInATemplateAreForOneDeviceEach) {
  DeviceCluster cluster;
  const auto made =
      cluster
          .Create(
              kTemplates,
              R"({"metadata":{"name":"t"},"spec":{"spec":{"devices":{"requests":[{"name":"r","firstAvailable":[{"name":"a","deviceClassName":"x"}]}]}}}})")
          .Json();
  const auto& request = made.at("spec").at("spec").at("devices").at("requests").as_array()[0];
  EXPECT_EQ(At(request.at("firstAvailable").as_array()[0], "count"), "1");
}

TEST(DeviceDefaults, ATaintHasTheTimeOfItsEffect) {
  DeviceCluster cluster;
  const std::string rules = kGroup + "/devicetaintrules";
  const auto made =
      cluster.Create(rules, R"({"metadata":{"name":"t"},"spec":{"taint":{"key":"k","effect":"None"}}})");
  const std::string added = At(made.Json(), "spec.taint.timeAdded");
  EXPECT_NE(added, "");
  cluster.Pass(60s);
  const auto same = cluster.Patch(rules + "/t", R"({"spec":{"taint":{"value":"v"}}})", "merge");
  EXPECT_EQ(At(same.Json(), "spec.taint.timeAdded"), added);
  const auto changed = cluster.Patch(rules + "/t", R"({"spec":{"taint":{"effect":"NoExecute"}}})", "merge");
  EXPECT_GT(At(changed.Json(), "spec.taint.timeAdded"), added);
}

// --- validation ---

struct DeviceRefusal {
  std::string name;
  std::string target, body;
  std::string message;  // a part of it; empty: the object is valid
};
void PrintTo(const DeviceRefusal& row, std::ostream* out) { *out << row.name; }
class DeviceValidation : public testing::TestWithParam<DeviceRefusal> {};
TEST_P(DeviceValidation, HasTheTextsOfKubeApiserver) {
  DeviceCluster cluster;
  const auto& row = GetParam();
  const auto answer = cluster.Create(row.target, row.body);
  if (row.message.empty()) {
    EXPECT_EQ(answer.status, 201) << answer.text;
    return;
  }
  EXPECT_EQ(answer.status, 422) << answer.text;
  EXPECT_THAT(At(answer.Json(), "message"), HasSubstr(row.message));
}
std::string Selector(std::string_view expression) {
  return ClaimSpec(fmt::format(R"("deviceClassName":"gpu","selectors":[{{"cel":{{"expression":{}}}}}])",
                               json::serialize(json::value(expression))));
}
std::string Taint(std::string_view fields) {
  return fmt::format(R"({{"metadata":{{"name":"t"}},"spec":{{"taint":{{{}}}}}}})", fields);
}
std::string Capacity(std::string_view policy) {
  return Devices(fmt::format(
      R"("allowMultipleAllocations":true,"capacity":{{"memory":{{"value":"8Gi","requestPolicy":{{{}}}}}}})",
      policy));
}
INSTANTIATE_TEST_SUITE_P(
    Claims, DeviceValidation,
    testing::Values(
        DeviceRefusal{"AClaim", kClaims, Claim(ClaimSpec()), ""},
        DeviceRefusal{"ASelector", kClaims, Claim(Selector(R"(device.attributes["d"].model == "a")")), ""},
        DeviceRefusal{
            "NeitherExactlyNorAlternatives", kClaims, Claim(R"({"devices":{"requests":[{"name":"r"}]}})"),
            "spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is "
            "required"},
        DeviceRefusal{"NoClass", kClaims, Claim(ClaimSpec("")),
                      "spec.devices.requests[0].exactly.deviceClassName: Required value"},
        DeviceRefusal{"ANegativeCount", kClaims, Claim(ClaimSpec(R"("deviceClassName":"gpu","count":-1)")),
                      "exactly.count: Invalid value: -1: must be greater than zero"},
        DeviceRefusal{"AnUnknownMode", kClaims,
                      Claim(ClaimSpec(R"("deviceClassName":"gpu","allocationMode":"Some")")),
                      "exactly.allocationMode: Unsupported value: \"Some\": supported values: \"All\", "
                      "\"ExactCount\""},
        DeviceRefusal{"TwoRequestsOfOneName", kClaims,
                      Claim(R"({"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"x"}},
                                {"name":"r","exactly":{"deviceClassName":"x"}}]}})"),
                      "spec.devices.requests[1]: Duplicate value: {\"name\":\"r\","},
        DeviceRefusal{"AnExpressionThatDoesNotCompile", kClaims, Claim(Selector("device.nope")),
                      "spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value: "
                      "\"device.nope\": compilation failed: ERROR: <input>:1:7: undefined field 'nope'"},
        DeviceRefusal{"AnExpressionThatIsNoCondition", kClaims, Claim(Selector("1 + 1")),
                      "must evaluate to bool or the unknown type, not int"},
        DeviceRefusal{"AConstraintOfAnUnknownRequest", kClaims,
                      Claim(R"({"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"x"}}],
                                "constraints":[{"requests":["s"],"matchAttribute":"d.example/numa"}]}})"),
                      "spec.devices.constraints[0].requests[0]: Invalid value: \"s\": must be the name of a "
                      "request in the claim"},
        DeviceRefusal{"AConstraintWithoutDomain", kClaims,
                      Claim(R"({"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"x"}}],
                                "constraints":[{"matchAttribute":"numa"}]}})"),
                      "a fully qualified name must be a domain and a name separated by a slash"},
        DeviceRefusal{"AdminAccessInAnOrdinaryNamespace", kClaims,
                      Claim(ClaimSpec(R"("deviceClassName":"gpu","adminAccess":true)")),
                      "spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires the "
                      "`resource.kubernetes.io/admin-access: true` label on the containing namespace"},
        DeviceRefusal{"ATemplateThatDoesNotCompile", kTemplates,
                      fmt::format(R"({{"metadata":{{"name":"t"}},"spec":{{"spec":{}}}}})", Selector("x")),
                      "spec.spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value"}),
    [](const auto& row) { return row.param.name; });
INSTANTIATE_TEST_SUITE_P(
    ClassesAndRules, DeviceValidation,
    testing::Values(
        DeviceRefusal{
            "AClass", kGroup + "/deviceclasses",
            Class(R"("extendedResourceName":"nvidia.com/gpu","selectors":[{"cel":{"expression":"true"}}])"),
            ""},
        DeviceRefusal{"ANativeResource", kGroup + "/deviceclasses", Class(R"("extendedResourceName":"cpu")"),
                      "spec.extendedResourceName: Invalid value: \"cpu\": a name must be a domain-prefixed "
                      "path, such as 'example.com/my-prop'"},
        DeviceRefusal{"ASelectorOfAClass", kGroup + "/deviceclasses",
                      Class(R"("selectors":[{"cel":{"expression":"device.driver"}}])"),
                      "must evaluate to bool or the unknown type, not string"},
        DeviceRefusal{"AnEmptySelector", kGroup + "/deviceclasses", Class(R"("selectors":[{}])"),
                      "spec.selectors[0].cel: Required value"},
        DeviceRefusal{"AnUnknownEffect", kGroup + "/devicetaintrules", Taint(R"("key":"k","effect":"Never")"),
                      "spec.taint.effect: Unsupported value: \"Never\": supported values: \"NoExecute\", "
                      "\"NoSchedule\", \"None\""}),
    [](const auto& row) { return row.param.name; });
INSTANTIATE_TEST_SUITE_P(
    Slices, DeviceValidation,
    testing::Values(
        DeviceRefusal{
            "ADevice", kGroup + "/resourceslices",
            Devices(R"("attributes":{"model":{"string":"a"},"x.example/v":{"version":"1.2.3-rc.1+b"}})"), ""},
        DeviceRefusal{"AVersionWithALeadingZero", kGroup + "/resourceslices",
                      Devices(R"("attributes":{"v":{"version":"1.02.3"}})"),
                      "spec.devices[0].attributes[v].version: Invalid value: \"1.02.3\": must be a string "
                      "compatible with semver.org spec 2.0.0"},
        DeviceRefusal{"TwoValues", kGroup + "/resourceslices",
                      Devices(R"("attributes":{"v":{"int":1,"bool":true}})"),
                      "Invalid value: \"{int, bool}\": must specify exactly one of: `int`, `bool`, "},
        DeviceRefusal{"AnAttributeWithADash", kGroup + "/resourceslices",
                      Devices(R"("attributes":{"a-b":{"int":1}})"), "a valid C identifier must start with"},
        DeviceRefusal{"TwoDevicesOfOneName", kGroup + "/resourceslices",
                      Slice(R"("devices":[{"name":"a"},{"name":"a"}])"),
                      "spec.devices[1]: Duplicate value: \"a\""},
        DeviceRefusal{"AsManyDevicesAsAllowed", kGroup + "/resourceslices", ManyDevices(128, ""), ""},
        DeviceRefusal{"TooManyDevices", kGroup + "/resourceslices", ManyDevices(129, ""),
                      "spec.devices: Too many: 129: must have at most 128 items"},
        DeviceRefusal{"TooManyTaintedDevices", kGroup + "/resourceslices",
                      ManyDevices(65, R"(,"taints":[{"key":"k","effect":"None"}])"),
                      "spec.devices: Too many: 65: must have at most 64 items"},
        DeviceRefusal{
            "CountersBesideDevices", kGroup + "/resourceslices",
            Slice(
                R"("devices":[{"name":"a"}],"sharedCounters":[{"name":"c","counters":{"m":{"value":"1"}}}])"),
            "only one of `sharedCounters` or `devices` is allowed"},
        DeviceRefusal{
            "NoNode", kGroup + "/resourceslices",
            R"({"metadata":{"name":"s"},"spec":{"driver":"d","pool":{"name":"n","resourceSliceCount":1}}})",
            "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
            "`perDeviceNodeSelection` is required"},
        DeviceRefusal{"TwoKindsOfNodes", kGroup + "/resourceslices", Slice(R"("allNodes":true)"),
                      "Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of"},
        DeviceRefusal{
            "AnEmptyPool", kGroup + "/resourceslices",
            R"({"metadata":{"name":"s"},"spec":{"driver":"d","allNodes":true,"pool":{"name":"n"}}})",
            "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero"},
        DeviceRefusal{"APolicyOfAnExclusiveDevice", kGroup + "/resourceslices",
                      Devices(R"("capacity":{"memory":{"value":"8Gi","requestPolicy":{"default":"1Gi"}}})"),
                      "requestPolicy: Forbidden: allowMultipleAllocations must be true"},
        DeviceRefusal{"ARangeThatHolds", kGroup + "/resourceslices",
                      Capacity(R"("default":"1Gi","validRange":{"min":"1Gi","max":"7Gi","step":"2Gi"})"), ""},
        DeviceRefusal{"AMaximumBesideTheSteps", kGroup + "/resourceslices",
                      Capacity(R"("default":"1Gi","validRange":{"min":"1Gi","max":"8Gi","step":"2Gi"})"),
                      "Invalid value: \"8Gi\": value is not a multiple of a given step (2Gi) from (1Gi)"},
        DeviceRefusal{"ADefaultThatIsNoOption", kGroup + "/resourceslices",
                      Capacity(R"("default":"3Gi","validValues":["1Gi","2Gi"])"),
                      "default value is not valid according to the requestPolicy"},
        DeviceRefusal{"ConditionsWithoutFailures", kGroup + "/resourceslices",
                      Devices(R"("bindingConditions":["x.example/ready"])"),
                      "bindingFailureConditions are required to use bindingConditions"}),
    [](const auto& row) { return row.param.name; });
INSTANTIATE_TEST_SUITE_P(
    Pods, DeviceValidation,
    testing::Values(
        DeviceRefusal{
            "APodWithAClaim", "/api/v1/namespaces/default/pods",
            R"({"metadata":{"name":"p"},"spec":{"resourceClaims":[{"name":"gpu","resourceClaimName":"c"}],
                          "containers":[{"name":"c","image":"i","resources":{"claims":[{"name":"gpu"}]}}]}})",
            ""},
        DeviceRefusal{"NeitherClaimNorTemplate", "/api/v1/namespaces/default/pods",
                      R"({"metadata":{"name":"p"},"spec":{"resourceClaims":[{"name":"gpu"}],
                          "containers":[{"name":"c","image":"i"}]}})",
                      "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"},
        DeviceRefusal{
            "AContainerWithAnUnknownClaim", "/api/v1/namespaces/default/pods",
            R"({"metadata":{"name":"p"},"spec":{"resourceClaims":[{"name":"gpu","resourceClaimName":"c"}],
                          "containers":[{"name":"c","image":"i","resources":{"claims":[{"name":"gpus"}]}}]}})",
            "spec.containers[0].resources.claims[0]: Not found: \"gpus\": must be one of the names in "
            "pod.spec.resourceClaims: gpu"}),
    [](const auto& row) { return row.param.name; });

TEST(DeviceAdmission, AdminAccessIsAllowedInALabelledNamespace) {
  DeviceCluster cluster;
  cluster.Patch("/api/v1/namespaces/default",
                R"({"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}})");
  EXPECT_EQ(cluster.CreateClaim(ClaimSpec(R"("deviceClassName":"gpu","adminAccess":true)")).status, 201);
}

TEST(DeviceUpdates, TheSpecOfAClaimIsImmutable) {
  DeviceCluster cluster;
  cluster.CreateClaim();
  const auto changed = cluster.Patch(
      kClaims + "/c", R"({"spec":{"devices":{"requests":[{"name":"s","exactly":{"deviceClassName":"x"}}]}}})",
      "merge");
  EXPECT_EQ(changed.status, 422);
  EXPECT_THAT(At(changed.Json(), "message"), HasSubstr("spec: Invalid value: "));
  EXPECT_THAT(At(changed.Json(), "message"), HasSubstr("field is immutable"));
}

TEST(DeviceUpdates, TheDriverOfASliceIsImmutableAndItsDevicesAreNot) {
  DeviceCluster cluster;
  const std::string slices = kGroup + "/resourceslices";
  cluster.Create(slices, Devices(""));
  EXPECT_EQ(cluster.Patch(slices + "/s", R"({"spec":{"driver":"e"}})", "merge").status, 422);
  const auto more =
      cluster.Patch(slices + "/s", R"({"spec":{"devices":[{"name":"a"},{"name":"b"}]}})", "merge");
  EXPECT_EQ(more.status, 200) << more.text;
  EXPECT_EQ(At(more.Json(), "metadata.generation"), "2");
}

// --- the status of a claim ---

TEST(ClaimStatus, AllocationAndReservationAreWrittenTogether) {
  DeviceCluster cluster;
  cluster.CreateClaim();
  const auto written =
      cluster.WriteStatus(fmt::format(R"({{"allocation":{},"reservedFor":[{}]}})", kAllocation, kConsumer));
  EXPECT_EQ(written.status, 200) << written.text;
  EXPECT_EQ(At(cluster.ReadClaim(), "status.reservedFor"), R"([{"resource":"pods","name":"p","uid":"u"}])");
}

TEST(ClaimStatus, TheMainResourceDoesNotChangeIt) {
  DeviceCluster cluster;
  cluster.CreateClaim();
  cluster.Patch(kClaims + "/c", fmt::format(R"({{"status":{{"allocation":{}}}}})", kAllocation), "merge");
  EXPECT_EQ(At(cluster.ReadClaim(), "status.allocation"), "");
}

TEST(ClaimStatus, FinalizersAreNotWrittenWithIt) {
  DeviceCluster cluster;
  cluster.CreateClaim();
  cluster.Patch(kClaims + "/c/status", R"({"metadata":{"finalizers":["x/y"]},"status":{}})", "merge");
  EXPECT_EQ(At(cluster.ReadClaim(), "metadata.finalizers"), "");
}

struct StatusCase {
  std::string name;
  std::string before;  // "": none
  std::string after;
  std::string message;
};
void PrintTo(const StatusCase& row, std::ostream* out) { *out << row.name; }
class ClaimStatusRefusals : public testing::TestWithParam<StatusCase> {};
TEST_P(ClaimStatusRefusals, HaveTheTextsOfKubeApiserver) {
  DeviceCluster cluster;
  cluster.CreateClaim();
  const auto& row = GetParam();
  if (!row.before.empty()) {
    EXPECT_EQ(cluster.WriteStatus(row.before).status, 200);
  }
  const auto answer = cluster.WriteStatus(row.after);
  EXPECT_EQ(answer.status, 422) << answer.text;
  EXPECT_THAT(At(answer.Json(), "message"), HasSubstr(row.message));
}
const std::string kAllocated = fmt::format(R"({{"allocation":{}}})", kAllocation);
INSTANTIATE_TEST_SUITE_P(
    Table, ClaimStatusRefusals,
    testing::Values(
        StatusCase{"AReservationWithoutAllocation", "", fmt::format(R"({{"reservedFor":[{}]}})", kConsumer),
                   "status.reservedFor: Forbidden: may not be specified when `allocated` is not set"},
        StatusCase{
            "AnotherAllocation", kAllocated,
            R"({"allocation":{"devices":{"results":[{"request":"r","driver":"d.example","pool":"n1","device":"gpu-1"}]}}})",
            "status.allocation: Invalid value: null: field cannot be modified once set"},
        StatusCase{
            "ADeviceForAnUnknownRequest", "",
            R"({"allocation":{"devices":{"results":[{"request":"q","driver":"d.example","pool":"n1","device":"gpu-0"}]}}})",
            "status.allocation.devices.results[0].request: Invalid value: \"q\": must be the name of a "
            "request in the claim"},
        StatusCase{"TheStatusOfADeviceThatIsNotAllocated", kAllocated,
                   R"({"devices":[{"driver":"d.example","pool":"n1","device":"gpu-7"}]})",
                   "status.devices[0]: Invalid value: "
                   "{\"Driver\":\"d.example\",\"Pool\":\"n1\",\"Device\":\"gpu-7\","
                   "\"ShareID\":\"\"}: must be an allocated device in the claim"},
        StatusCase{"AConsumerWithoutUid", kAllocated, R"({"reservedFor":[{"resource":"pods","name":"p"}]})",
                   "status.reservedFor[0].uid: Required value"}),
    [](const auto& row) { return row.param.name; });

TEST(ClaimStatus, AClaimUnderDeletionGetsNoNewConsumers) {
  DeviceCluster cluster;
  cluster.CreateClaim();
  cluster.Patch(kClaims + "/c", R"({"metadata":{"finalizers":["resource.kubernetes.io/delete-protection"]}})",
                "merge");
  cluster.WriteStatus(kAllocated);
  cluster.Do("DELETE", kClaims + "/c");
  const auto answer = cluster.WriteStatus(fmt::format(R"({{"reservedFor":[{}]}})", kConsumer));
  EXPECT_THAT(At(answer.Json(), "message"),
              HasSubstr("new entries may not be added while `deallocationRequested` or `deletionTimestamp`"));
}

TEST(ClaimStatus, TheStatusOfADeviceEndsWithItsAllocation) {
  DeviceCluster cluster;
  cluster.CreateClaim();
  cluster.WriteStatus(kAllocated);
  cluster.WriteStatus(R"({"devices":[{"driver":"d.example","pool":"n1","device":"gpu-0"}]})");
  EXPECT_NE(At(cluster.ReadClaim(), "status.devices"), "");
  cluster.WriteStatus(R"({"allocation":null})");
  EXPECT_EQ(At(cluster.ReadClaim(), "status"), "{}");
}

TEST(ClaimStatus, ASchedulerReleasesItsConsumerByUid) {
  DeviceCluster cluster;
  cluster.CreateClaim();
  cluster.WriteStatus(
      fmt::format(R"({{"allocation":{},"reservedFor":[{},{{"resource":"pods","name":"q","uid":"v"}}]}})",
                  kAllocation, kConsumer));
  cluster.Patch(kClaims + "/c/status", R"({"status":{"reservedFor":[{"$patch":"delete","uid":"u"}]}})");
  EXPECT_EQ(At(cluster.ReadClaim(), "status.reservedFor"), R"([{"resource":"pods","name":"q","uid":"v"}])");
}

// --- tables ---

TEST(DeviceTables, ShowTheStateOfAClaim) {
  DeviceCluster cluster;
  cluster.CreateClaim();
  const auto state = [&] {
    const auto table =
        cluster.Open("GET", kClaims, "", "", "application/json;as=Table;v=v1;g=meta.k8s.io")->Json();
    return std::string(table.at("rows").as_array()[0].at("cells").as_array()[1].as_string());
  };
  EXPECT_EQ(state(), "pending");
  cluster.WriteStatus(kAllocated);
  EXPECT_EQ(state(), "allocated");
  cluster.WriteStatus(fmt::format(R"({{"reservedFor":[{}]}})", kConsumer));
  EXPECT_EQ(state(), "allocated,reserved");
  cluster.Patch(kClaims + "/c", R"({"metadata":{"finalizers":["resource.kubernetes.io/delete-protection"]}})",
                "merge");
  cluster.Do("DELETE", kClaims + "/c");
  EXPECT_EQ(state(), "deleted,allocated,reserved");
}

TEST(DeviceTables, SelectSlicesByNodeAndDriver) {
  DeviceCluster cluster;
  cluster.Create(kGroup + "/resourceslices", Devices(""));
  const auto count = [&](std::string selector) {
    return cluster.Get(kGroup + "/resourceslices?fieldSelector=" + selector)
        .Json()
        .at("items")
        .as_array()
        .size();
  };
  EXPECT_EQ(count("spec.nodeName=n1,spec.driver=d.example"), 1U);
  EXPECT_EQ(count("spec.nodeName=n2"), 0U);
}

}  // namespace
}  // namespace berth::sandbox
