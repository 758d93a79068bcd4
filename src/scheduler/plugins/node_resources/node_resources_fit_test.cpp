#include "scheduler/plugins/node_resources/node_resources_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::Fits;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using berth::testing::Unresolvable;
using berth::testing::Unschedulable;
using berth::testing::Verdict;

// --- filter ---

// A node with 4 cores, 8Gi, two GPUs and a limit of three pods. Two pods use 3 cores, 2Gi and one GPU.
class TheFullerNode {
 public:
  TheFullerNode() {
    cluster.Add(MakeNode("n")
                    .Cpu("4")
                    .Memory("8Gi")
                    .Allocatable("ephemeral-storage", "10Gi")
                    .Allocatable("example.com/gpu", "2")
                    .Pods("3"));
    cluster.Run("n", MakePod("a").Cpu("2").Memory("2Gi"))
        .Run("n", MakePod("b").Cpu("1").Request("example.com/gpu", "1"));
  }
  Cluster cluster;
};

struct FitCase {
  std::string name;
  PodBuilder pod;
  Verdict verdict;
  std::string args = "";
};
class Fit : public ::testing::TestWithParam<FitCase> {};
TEST_P(Fit, EvaluatesANodeWithPods) {
  TheFullerNode world;
  const auto plugin = world.cluster.Make<NodeResourcesFit>(GetParam().args);
  EXPECT_EQ(world.cluster.Filter(*plugin, GetParam().pod).at("n"), GetParam().verdict);
}
INSTANTIATE_TEST_SUITE_P(
    Table, Fit,
    ::testing::Values(
        FitCase{"APodThatAsksForNothingFits", MakePod(), Fits()},
        FitCase{"WhatIsFreeCanBeTakenToTheLast", MakePod().Cpu("1").Memory("6Gi"), Fits()},
        FitCase{"ABitMoreIsTooMuch", MakePod().Cpu("1001m"), Unschedulable({"Insufficient cpu"})},
        FitCase{"MoreThanTheNodeHasCanNeverFit", MakePod().Cpu("4001m"), Unresolvable({"Insufficient cpu"})},
        FitCase{"AllThatTheNodeHasMayFitOneDay", MakePod().Cpu("4"), Unschedulable({"Insufficient cpu"})},
        FitCase{"EveryShortageIsNamedInOrder",
                MakePod()
                    .Cpu("2")
                    .Memory("7Gi")
                    .Request("ephemeral-storage", "11Gi")
                    .Request("example.com/gpu", "2"),
                Unresolvable({"Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage",
                              "Insufficient example.com/gpu"})},
        FitCase{"AResourceTheNodeDoesNotHaveCanNeverFit", MakePod().Request("hugepages-2Mi", "2Mi"),
                Unresolvable({"Insufficient hugepages-2Mi"})},
        FitCase{"ExtendedResourcesAreCounted", MakePod().Request("example.com/gpu", "2"),
                Unschedulable({"Insufficient example.com/gpu"})},
        FitCase{"ZeroOfAnythingFits", MakePod().Cpu("0").Request("example.com/other", "0"), Fits()},
        FitCase{"ANegativeRequestCountsAsZero", MakePod().Cpu("-5"), Fits()},
        FitCase{"NamesThatSchedulingIgnoresAreIgnored", MakePod().Request("storage", "1Ti"), Fits()},
        FitCase{"AnIgnoredResourceIsNotLookedAt", MakePod().Request("example.com/gpu", "9"), Fits(),
                "ignoredResources: [example.com/gpu]"},
        FitCase{"AnIgnoredGroupIsNotLookedAt", MakePod().Request("example.com/gpu", "9"), Fits(),
                "ignoredResourceGroups: [example.com]"},
        FitCase{"OnlyExtendedResourcesCanBeIgnored", MakePod().Cpu("2").Request("hugepages-2Mi", "2Mi"),
                Unresolvable({"Insufficient cpu", "Insufficient hugepages-2Mi"}),
                "ignoredResources: [cpu, hugepages-2Mi]"},
        FitCase{"OverheadIsAskedForToo", MakePod().Cpu("1").Overhead("cpu", "1m"),
                Unschedulable({"Insufficient cpu"})}),
    [](const auto& row) { return row.param.name; });

TEST(Fit, TheNumberOfPodsIsLimited) {
  TheFullerNode world;
  const auto plugin = world.cluster.Make<NodeResourcesFit>();
  EXPECT_EQ(world.cluster.Filter(*plugin, MakePod()).at("n"), Fits());
  world.cluster.Run("n", MakePod("c"));
  EXPECT_EQ(world.cluster.Filter(*plugin, MakePod()).at("n"), Unschedulable({"Too many pods"}));
  EXPECT_EQ(world.cluster.Filter(*plugin, MakePod().Cpu("2")).at("n"),
            Unschedulable({"Too many pods", "Insufficient cpu"}));
}

TEST(Fit, AnOvercommittedNodeAcceptsPodsWithoutRequests) {
  Cluster cluster;
  cluster.Add(MakeNode("n").Cpu("1")).Run("n", MakePod("a").Cpu("3"));
  const auto plugin = cluster.Make<NodeResourcesFit>();
  EXPECT_EQ(cluster.Filter(*plugin, MakePod()).at("n"), Fits());
  EXPECT_EQ(cluster.Filter(*plugin, MakePod().Cpu("1m")).at("n"), Unschedulable({"Insufficient cpu"}));
}

TEST(Fit, ANodeWithoutAllocatablePodsAcceptsNone) {
  Cluster cluster;
  cluster.Add(MakeNode("n").Pods("0"));
  EXPECT_EQ(cluster.Filter(*cluster.Make<NodeResourcesFit>(), MakePod()).at("n"),
            Unschedulable({"Too many pods"}));
}

// More nodes than one word of a row set.
TEST(Fit, EvaluatesManyNodes) {
  Cluster cluster;
  for (int i = 0; i < 130; ++i) cluster.Add(MakeNode("n" + std::to_string(i)).Cpu(std::to_string(i) + "m"));
  const auto verdicts = cluster.Filter(*cluster.Make<NodeResourcesFit>(), MakePod().Cpu("65m"));
  for (int i = 0; i < 130; ++i) {
    EXPECT_EQ(verdicts.at("n" + std::to_string(i)), i < 65 ? Unresolvable({"Insufficient cpu"}) : Fits())
        << i;
  }
}

// --- score ---

constexpr const char* kLeast = "";
constexpr const char* kMost = "scoringStrategy: {type: MostAllocated}";
constexpr const char* kLeastCpu3 =
    "scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: 3}, {name: memory, weight: 1}]}";
constexpr const char* kMostCpu3 =
    "scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 3}, {name: memory, weight: 1}]}";

struct ScoreCase {
  std::string name;
  std::string args;
  PodBuilder there;
  PodBuilder pod;
  std::int64_t score;
};
class FitScore : public ::testing::TestWithParam<ScoreCase> {};
TEST_P(FitScore, ReflectsTheUtilizationWithThePod) {
  Cluster cluster;
  cluster.Add(MakeNode("n")
                  .Cpu("4")
                  .Memory("8Gi")
                  .Allocatable("example.com/gpu", "8")
                  .Allocatable("example.com/fpga", "4"));
  cluster.Run("n", GetParam().there);
  EXPECT_EQ(cluster.Scores(*cluster.Make<NodeResourcesFit>(GetParam().args), GetParam().pod).at("n"),
            GetParam().score);
}
std::string Ratio(const std::string& shape,
                  const std::string& resources = "[{name: cpu, weight: 1}, {name: memory, weight: 1}]") {
  return "scoringStrategy: {type: RequestedToCapacityRatio, resources: " + resources +
         ", requestedToCapacityRatio: {shape: " + shape + "}}";
}
constexpr const char* kRising = "[{utilization: 0, score: 0}, {utilization: 100, score: 10}]";
constexpr const char* kFalling = "[{utilization: 0, score: 10}, {utilization: 100, score: 0}]";
PodBuilder Zero() { return MakePod("there").Cpu("0").Memory("0"); }
PodBuilder There(std::string_view cpu, std::string_view memory) {
  return MakePod("there").Cpu(cpu).Memory(memory);
}
PodBuilder PodOf(std::string_view cpu, std::string_view memory) { return MakePod().Cpu(cpu).Memory(memory); }
INSTANTIATE_TEST_SUITE_P(
    LeastAndMost, FitScore,
    ::testing::Values(
        ScoreCase{"EmptyLeast", kLeast, Zero(), PodOf("1", "2Gi"), 75},
        ScoreCase{"EmptyMost", kMost, Zero(), PodOf("1", "2Gi"), 25},
        ScoreCase{"DivisionTruncatesLeast", kLeast, There("1", "2Gi"), PodOf("500m", "1Gi"), 62},
        ScoreCase{"DivisionTruncatesMost", kMost, There("1", "2Gi"), PodOf("500m", "1Gi"), 37},
        ScoreCase{"DefaultsCountForThePod", kLeast, Zero(), MakePod(), 97},
        ScoreCase{"DefaultsCountForThePodsThatAreThere", kLeast, MakePod("there"), PodOf("0", "0"), 97},
        ScoreCase{"WeightsLeast", kLeastCpu3, There("2500m", "3Gi"), PodOf("1", "1Gi"), 21},
        ScoreCase{"WeightsMost", kMostCpu3, There("2500m", "3Gi"), PodOf("1", "1Gi"), 77},
        ScoreCase{"BeyondCapacityLeastIsZero", kLeast, There("3950m", "7Gi"), MakePod(), 5},
        ScoreCase{"BeyondCapacityMostIsFull", kMost, There("3950m", "7Gi"), MakePod(), 94},
        ScoreCase{"AScalarThePodDoesNotAskForIsDropped",
                  "scoringStrategy: {type: MostAllocated, resources: [{name: cpu}, {name: example.com/gpu, "
                  "weight: 9}]}",
                  Zero(), PodOf("2", "0"), 50},
        ScoreCase{"AResourceTheNodeDoesNotHaveIsDropped",
                  "scoringStrategy: {type: MostAllocated, resources: [{name: cpu}, {name: example.com/none, "
                  "weight: 9}]}",
                  Zero(), PodOf("2", "0").Request("example.com/none", "1"), 50},
        ScoreCase{"NothingToGoByIsZero", "scoringStrategy: {type: MostAllocated, resources: [{name: pods}]}",
                  Zero(), PodOf("2", "0"), 0},
        ScoreCase{"PodLevelRequestsAreLeftOut", kMost, Zero(), PodOf("2", "4Gi").PodLevel("cpu", "4"), 50}),
    [](const auto& row) { return row.param.name; });
INSTANTIATE_TEST_SUITE_P(
    RequestedToCapacityRatio, FitScore,
    ::testing::Values(
        ScoreCase{"HalvesAreRoundedUp", Ratio(kRising), There("2500m", "3Gi"), PodOf("1", "1Gi"), 69},
        ScoreCase{"WeightsCount", Ratio(kRising, "[{name: cpu, weight: 3}, {name: memory, weight: 1}]"),
                  There("2500m", "3Gi"), PodOf("1", "1Gi"), 78},
        ScoreCase{"AFallingShape", Ratio(kFalling), There("2500m", "3Gi"), PodOf("1", "1Gi"), 32},
        ScoreCase{"AResourceThatScoresZeroIsDropped", Ratio(kRising), Zero(), PodOf("0", "4Gi"), 50},
        ScoreCase{"BeyondCapacityCountsAsFull", Ratio(kRising), There("4", "3Gi"), PodOf("1", "1Gi"), 75},
        ScoreCase{"ScalarsHaveTheirWeightToo",
                  Ratio(kRising, "[{name: example.com/gpu, weight: 5}, {name: example.com/fpga, weight: 1}]"),
                  Zero(), MakePod().Request("example.com/gpu", "3").Request("example.com/fpga", "2"), 39}),
    [](const auto& row) { return row.param.name; });

// One resource of 100 units, so that the request equals the utilization.
struct ShapeCase {
  std::string name;
  std::string shape;
  std::vector<std::pair<int, std::int64_t>> points;  // utilization, score
};
class FitShape : public ::testing::TestWithParam<ShapeCase> {};
TEST_P(FitShape, IsPiecewiseLinearAndConstantBeyondItsEnds) {
  Cluster cluster;
  cluster.Add(MakeNode("n").Allocatable("example.com/x", "100"));
  const auto plugin =
      cluster.Make<NodeResourcesFit>(Ratio(GetParam().shape, "[{name: example.com/x, weight: 1}]"));
  for (const auto& [utilization, score] : GetParam().points) {
    EXPECT_EQ(
        cluster.Scores(*plugin, MakePod().Request("example.com/x", std::to_string(utilization))).at("n"),
        score)
        << utilization;
  }
}
INSTANTIATE_TEST_SUITE_P(
    Table, FitShape,
    ::testing::Values(
        ShapeCase{"Rising", kRising, {{10, 10}, {33, 33}, {75, 75}, {100, 100}}},
        ShapeCase{"FallingRoundsUp", kFalling, {{10, 90}, {33, 67}, {37, 63}, {50, 50}, {90, 10}}},
        ShapeCase{"APeak",
                  "[{utilization: 0, score: 0}, {utilization: 50, score: 10}, {utilization: 100, score: 2}]",
                  {{10, 20}, {33, 66}, {37, 74}, {50, 100}, {75, 60}, {77, 57}, {90, 36}, {100, 20}}},
        ShapeCase{
            "FlatEnds",
            "[{utilization: 10, score: 3}, {utilization: 60, score: 7}, {utilization: 90, score: 10}]",
            {{1, 30}, {10, 30}, {33, 48}, {37, 51}, {50, 62}, {75, 85}, {77, 87}, {90, 100}, {100, 100}}}),
    [](const auto& row) { return row.param.name; });

// --- arguments ---

struct ArgsCase {
  std::string name;
  std::string args;
  std::string error;
};
class FitArgs : public ::testing::TestWithParam<ArgsCase> {};
TEST_P(FitArgs, HaveTheErrorsOfKubeScheduler) {
  Cluster cluster;
  const auto made = cluster.TryMake<NodeResourcesFit>(GetParam().args);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Table, FitArgs,
    ::testing::Values(
        ArgsCase{
            "UnknownField", "ignoredResource: [a]",
            "strict decoding error: unknown field \"ignoredResource\"; did you mean \"ignoredResources\"?"},
        ArgsCase{"UnknownFieldFurtherDown",
                 "scoringStrategy: {type: LeastAllocated, resources: [{nam: cpu}]}",
                 "strict decoding error: unknown field \"scoringStrategy.resources[0].nam\"; did you mean "
                 "\"name\"?"},
        ArgsCase{"WrongType",
                 "scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: heavy}]}",
                 "json: cannot unmarshal string into Go struct field "
                 "ResourceSpec.scoringStrategy.resources.weight of type int64"},
        ArgsCase{"UnknownType", "scoringStrategy: {type: Least}",
                 "scoringStrategy.type: Unsupported value: \"Least\": supported values: \"LeastAllocated\", "
                 "\"MostAllocated\", "
                 "\"RequestedToCapacityRatio\""},
        ArgsCase{"AnObjectWithoutTypeIsNotDefaulted", "scoringStrategy: {resources: [{name: cpu}]}",
                 "scoringStrategy.type: Unsupported value: \"\": supported values: \"LeastAllocated\", "
                 "\"MostAllocated\", "
                 "\"RequestedToCapacityRatio\""},
        ArgsCase{"WeightTooLarge",
                 "scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 101}]}",
                 "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in "
                 "valid range (0, 100]"},
        ArgsCase{"WeightNegative",
                 "scoringStrategy: {type: MostAllocated, resources: [{name: a}, {name: cpu, weight: -1}]}",
                 "scoringStrategy.resources[1].weight: Invalid value: -1: resource weight of cpu not in "
                 "valid range (0, 100]"},
        ArgsCase{"RatioWithoutShape",
                 "scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {}}",
                 "scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must be "
                 "specified"},
        ArgsCase{"RatioWithoutItsObject", "scoringStrategy: {type: RequestedToCapacityRatio}",
                 "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is "
                 "RequestedToCapacityRatio"},
        ArgsCase{"ARatioForAnotherType",
                 "scoringStrategy: {type: LeastAllocated, requestedToCapacityRatio: {}}",
                 "scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not "
                 "RequestedToCapacityRatio"},
        ArgsCase{
            "ShapeNotRising",
            Ratio("[{utilization: 5, score: 1}, {utilization: 5, score: 2}, {utilization: 4, score: 2}]"),
            "scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 5: values must be "
            "sorted in increasing "
            "order"},
        ArgsCase{"PointsOutOfRangeAreNamedTogether",
                 Ratio("[{utilization: -1, score: 11}, {utilization: 101, score: -1}]"),
                 "[scoringStrategy.requestedToCapacityRatio.shape[0].utilization: Invalid value: -1: not in "
                 "valid range [0, 100], "
                 "scoringStrategy.requestedToCapacityRatio.shape[0].score: Invalid value: 11: not in valid "
                 "range [0, 10], "
                 "scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 101: not in "
                 "valid range [0, 100], "
                 "scoringStrategy.requestedToCapacityRatio.shape[1].score: Invalid value: -1: not in valid "
                 "range [0, 10]]"},
        ArgsCase{"IgnoredGroupWithASlash", "ignoredResourceGroups: [example.com/gpu]",
                 "ignoredResourceGroups[0]: Invalid value: \"example.com/gpu\": resource group name can't "
                 "contain '/'"}),
    [](const auto& row) { return row.param.name; });

TEST(FitArgs, ValidatesNamesAsLabelKeys) {
  Cluster cluster;
  EXPECT_THAT(cluster.TryMake<NodeResourcesFit>("ignoredResources: [ok, 'not ok']").error().message,
              ::testing::StartsWith(
                  "ignoredResources[1]: Invalid value: \"not ok\": name part must consist of alphanumeric"));
}

TEST(FitArgs, AcceptKindAndApiVersionAndWeightZeroMeansOne) {
  Cluster cluster;
  EXPECT_TRUE(cluster.TryMake<NodeResourcesFit>(
      "kind: NodeResourcesFitArgs\napiVersion: kubescheduler.config.k8s.io/v1\n"
      "scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: 0}]}"));
}

// --- extended resources of device classes ---

class FitWithDevices : public ::testing::Test {
 protected:
  FitWithDevices() {
    cluster_.Add(MakeNode("plugin").Allocatable("example.com/gpu", "2"));
    cluster_.Add(MakeNode("devices").Allocatable("example.com/gpu", "0"));
    cluster_.Add(MakeNode("nothing"));
    api::ResourceSlice slice;
    slice.metadata.name = "s";
    slice.driver = "d";
    slice.node_name = "devices";
    slice.pool = "p";
    slice.pool_slice_count = 1;
    for (const char* name : {"g0", "g1", "g2", "g3"}) slice.devices.emplace_back().name = name;
    cluster_.Put(slice);
  }
  void PutClass(const std::string& expression = "") {
    api::DeviceClass provider;
    provider.metadata.name = "gpu";
    provider.extended_resource_name = "example.com/gpu";
    if (!expression.empty()) provider.selectors.push_back({expression});
    cluster_.Put(provider);
  }
  void Allocate(const std::string& device) {
    api::ResourceClaim claim;
    claim.metadata.ns = "default";
    claim.metadata.name = claim.metadata.uid = device;
    api::ResourceClaim::Allocation allocation;
    api::ResourceClaim::AllocatedDevice& allocated = allocation.devices.emplace_back();
    allocated.driver = "d";
    allocated.pool = "p";
    allocated.device = device;
    claim.allocation = allocation;
    cluster_.Put(claim);
  }
  Cluster cluster_;
};

TEST_F(FitWithDevices, NodesThatDoNotOfferTheResourceAreLeftToDynamicResources) {
  const auto plugin = cluster_.Make<NodeResourcesFit>();
  const auto pod = MakePod().Request("example.com/gpu", "3");
  const auto lacking = Unresolvable({"Insufficient example.com/gpu"});
  EXPECT_EQ(cluster_.Filter(*plugin, pod),
            (testing::Verdicts{{"plugin", lacking}, {"devices", lacking}, {"nothing", lacking}}));
  const std::uint64_t before = cluster_.handle().nodes.node_changes();
  PutClass();
  EXPECT_NE(cluster_.handle().nodes.node_changes(), before) << "cached results are outdated";
  EXPECT_EQ(cluster_.Filter(*plugin, pod),
            (testing::Verdicts{{"plugin", lacking}, {"devices", Fits()}, {"nothing", Fits()}}));
}

TEST_F(FitWithDevices, ScoresCountTheDevicesOfTheClass) {
  const auto plugin = cluster_.Make<NodeResourcesFit>(
      "{scoringStrategy: {type: LeastAllocated, resources: [{name: example.com/gpu, weight: 1}]}}");
  const auto pod = MakePod().Request("example.com/gpu", "1");
  PutClass();
  Allocate("g0");
  EXPECT_EQ(cluster_.Scores(*plugin, pod),
            (testing::NodeScores{{"plugin", 50}, {"devices", 50}, {"nothing", 0}}));
  Allocate("g1");
  EXPECT_EQ(cluster_.Scores(*plugin, pod).at("devices"), 25);
  EXPECT_EQ(plugin->ScoreDependency(cluster_.Prepare(pod)), framework::ResultDependency::kEverything);
  EXPECT_EQ(plugin->ScoreDependency(cluster_.Prepare(MakePod())), framework::ResultDependency::kRow);
  PutClass("device.driver == 'other'");
  EXPECT_EQ(cluster_.Scores(*plugin, pod).at("devices"), 0) << "no device belongs to the class";
  PutClass("device.nothing");
  EXPECT_EQ(cluster_.Scores(*plugin, pod).at("devices"), 0) << "a wrong selector";
}

TEST_F(FitWithDevices, PodsAreRetriedWhenAClassBeginsToProvideTheirResource) {
  const auto plugin = cluster_.Make<NodeResourcesFit>();
  const cluster::PodInfo pod = cluster_.Prepare(MakePod().Request("example.com/gpu", "1"));
  const cluster::PodInfo implicit =
      cluster_.Prepare(MakePod().Request("deviceclass.resource.kubernetes.io/gpu", "1"));
  auto without = std::make_shared<api::DeviceClass>();
  without->metadata.name = "gpu";
  auto with = std::make_shared<api::DeviceClass>(*without);
  with->extended_resource_name = "example.com/gpu";
  const auto hint = [&](const cluster::PodInfo& waiting,
                        const std::shared_ptr<const api::DeviceClass>& before,
                        const std::shared_ptr<const api::DeviceClass>& after) {
    for (const framework::EventRegistration& registration : plugin->EventsToRegister()) {
      if (registration.event.resource == framework::EventResource::kDeviceClass)
        return registration.hint(waiting, {before, after}).value();
    }
    return framework::Hint::kSkip;
  };
  using framework::Hint;
  EXPECT_EQ(hint(pod, nullptr, with), Hint::kQueue);
  EXPECT_EQ(hint(pod, without, with), Hint::kQueue);
  EXPECT_EQ(hint(pod, nullptr, without), Hint::kSkip);
  EXPECT_EQ(hint(pod, with, with), Hint::kSkip) << "the same name";
  EXPECT_EQ(hint(implicit, nullptr, without), Hint::kQueue);
  EXPECT_EQ(hint(implicit, without, with), Hint::kSkip);
}

}  // namespace
}  // namespace berth::plugins
