// The conversion of old versions to v1.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/write_yaml.hpp"
#include "config/scheduler_config.hpp"

namespace berth::config {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::string Head(const std::string& version) {
  return "apiVersion: kubescheduler.config.k8s.io/" + version + "\nkind: KubeSchedulerConfiguration\n";
}
SchedulerConfig Read(const std::string& text) {
  auto config = ParseSchedulerConfig(text);
  EXPECT_TRUE(config) << config.error().message;
  return config ? *config : SchedulerConfig{};
}
std::string ErrorOf(const std::string& text) {
  const auto config = ParseSchedulerConfig(text);
  return config ? "no error" : config.error().message;
}
// "+A 3" is enabled with weight 3, "-B" is disabled.
std::string Shown(const PluginSet& set) {
  std::vector<std::string> parts;
  for (const auto& plugin : set.enabled)
    parts.push_back(plugin.weight == 0 ? "+" + plugin.name
                                       : fmt::format("+{} {}", plugin.name, plugin.weight));
  for (const auto& name : set.disabled) parts.push_back("-" + name);
  return fmt::format("{}", fmt::join(parts, " "));
}
std::string ArgsOf(const Profile& profile, const std::string& plugin) {
  const auto args = profile.plugin_args.find(plugin);
  return args == profile.plugin_args.end() ? "none" : yaml::ToJson(args->second);
}

// --- defaults of each version ---
struct WeightCase {
  std::string version;
  std::string weights;  // of multiPoint, those that are given
  std::string score;
};
class DefaultsOfAVersion : public testing::TestWithParam<WeightCase> {};
TEST_P(DefaultsOfAVersion, KeepTheirFormerWeights) {
  const SchedulerConfig config = Read(Head(GetParam().version));
  EXPECT_EQ(config.version, "kubescheduler.config.k8s.io/" + GetParam().version);
  ASSERT_EQ(config.profiles.size(), 1U);
  EXPECT_EQ(config.profiles[0].scheduler_name, "default-scheduler");
  std::vector<std::string> weights;
  for (const PluginRef& plugin : config.profiles[0].at(Point::kMultiPoint).enabled) {
    if (plugin.weight != 0) weights.push_back(fmt::format("{} {}", plugin.name, plugin.weight));
  }
  EXPECT_EQ(fmt::format("{}", fmt::join(weights, ", ")), GetParam().weights);
  EXPECT_EQ(Shown(config.profiles[0].at(Point::kScore)), GetParam().score);
}
constexpr const char* kWeightsOfV1 =
    "TaintToleration 3, NodeAffinity 2, NodeResourcesFit 1, PodTopologySpread 2, InterPodAffinity 2, "
    "DynamicResources 2, NodeResourcesBalancedAllocation 1, ImageLocality 1";
constexpr const char* kWeightsOfBetas =
    "TaintToleration 1, NodeAffinity 1, NodeResourcesFit 1, PodTopologySpread 2, InterPodAffinity 1, "
    "DynamicResources 2, NodeResourcesBalancedAllocation 1, ImageLocality 1";
constexpr const char* kWeightsOfAlphas =
    "TaintToleration 1, NodeAffinity 1, NodeResourcesFit 1, PodTopologySpread 1, InterPodAffinity 1, "
    "DynamicResources 2, NodeResourcesBalancedAllocation 1, ImageLocality 1";
INSTANTIATE_TEST_SUITE_P(Table, DefaultsOfAVersion,
                         testing::Values(WeightCase{"v1", kWeightsOfV1, ""},
                                         WeightCase{"v1beta3", kWeightsOfV1, "-VolumeBinding"},
                                         WeightCase{"v1beta2", kWeightsOfBetas, "-VolumeBinding"},
                                         WeightCase{"v1beta1", kWeightsOfBetas, "-VolumeBinding"},
                                         WeightCase{"v1alpha2", kWeightsOfAlphas, "-VolumeBinding"},
                                         WeightCase{"v1alpha1", kWeightsOfAlphas, "-VolumeBinding"}),
                         [](const auto& row) { return row.param.version; });

// --- plugins that went ---
struct SuccessorCase {
  std::string name;
  std::string version;
  std::string profile;  // members of profiles[0]
  Point point;
  std::string set;
  std::string plugin;  // whose arguments are
  std::string args;
};
class ARemovedPlugin : public testing::TestWithParam<SuccessorCase> {};
TEST_P(ARemovedPlugin, HasASuccessor) {
  const auto& row = GetParam();
  const SchedulerConfig config = Read(Head(row.version) + "profiles: [{" + row.profile + "}]\n");
  ASSERT_FALSE(config.profiles.empty());
  EXPECT_EQ(Shown(config.profiles[0].at(row.point)), row.set);
  if (!row.plugin.empty()) {
    EXPECT_EQ(ArgsOf(config.profiles[0], row.plugin), row.args);
  }
  EXPECT_THAT(config.notes, testing::Not(IsEmpty()));
}
INSTANTIATE_TEST_SUITE_P(
    Table, ARemovedPlugin,
    testing::Values(
        SuccessorCase{"MostAllocated", "v1beta1",
                      "plugins: {score: {disabled: [{name: NodeResourcesLeastAllocated}], enabled: [{name: "
                      "NodeResourcesMostAllocated, weight: 5}]}}",
                      Point::kScore, "+NodeResourcesFit 5 -VolumeBinding", "NodeResourcesFit",
                      R"({"scoringStrategy":{"type":"MostAllocated"}})"},
        SuccessorCase{
            "MostAllocatedWithResources", "v1beta1",
            "plugins: {score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesMostAllocated}]}}, "
            "pluginConfig: [{name: NodeResourcesMostAllocated, args: {resources: [{name: cpu, weight: 3}]}}]",
            Point::kScore, "+NodeResourcesFit -*", "NodeResourcesFit",
            R"({"scoringStrategy":{"resources":[{"name":"cpu","weight":3}],"type":"MostAllocated"}})"},
        SuccessorCase{
            "LeastAllocatedWithResources", "v1beta1",
            "pluginConfig: [{name: NodeResourcesLeastAllocated, args: {resources: [{name: cpu, weight: "
            "3}]}}]",
            Point::kScore, "-VolumeBinding", "NodeResourcesFit",
            R"({"scoringStrategy":{"resources":[{"name":"cpu","weight":3}],"type":"LeastAllocated"}})"},
        SuccessorCase{"LeastAllocatedDisabled", "v1beta1",
                      "plugins: {score: {disabled: [{name: NodeResourcesLeastAllocated}]}}", Point::kScore,
                      "-NodeResourcesFit -VolumeBinding", "", ""},
        SuccessorCase{
            "Ratio", "v1alpha2",
            "plugins: {score: {disabled: [{name: NodeResourcesLeastAllocated}], enabled: [{name: "
            "RequestedToCapacityRatio, weight: 2}]}}, pluginConfig: [{name: RequestedToCapacityRatio, args: "
            "{shape: [{utilization: 0, score: 0}]}}]",
            Point::kScore, "+NodeResourcesFit 2 -VolumeBinding", "NodeResourcesFit",
            R"({"scoringStrategy":{"requestedToCapacityRatio":{"shape":[{"score":0,"utilization":0}]},)"
            R"("type":"RequestedToCapacityRatio"}})"},
        SuccessorCase{"SelectorSpreadIsThereAlready", "v1beta3",
                      "plugins: {score: {enabled: [{name: SelectorSpread, weight: 4}]}}", Point::kScore,
                      "-VolumeBinding", "", ""},
        SuccessorCase{
            "SelectorSpreadAlone", "v1beta1",
            "plugins: {score: {disabled: [{name: '*'}], enabled: [{name: SelectorSpread, weight: 4}]}}",
            Point::kScore, "+PodTopologySpread 4 -*", "", ""},
        SuccessorCase{"SpreadingDisabled", "v1alpha2",
                      "plugins: {score: {disabled: [{name: DefaultPodTopologySpread}]}}", Point::kScore,
                      "-VolumeBinding", "PodTopologySpread", R"({"defaultingType":"List"})"},
        SuccessorCase{"AvoidPods", "v1beta1",
                      "plugins: {score: {enabled: [{name: NodePreferAvoidPods, weight: 10000}]}}",
                      Point::kScore, "-VolumeBinding", "", ""},
        SuccessorCase{
            "VolumeLimits", "v1beta2",
            "plugins: {filter: {disabled: [{name: '*'}], enabled: [{name: NodeName}, {name: EBSLimits}, "
            "{name: GCEPDLimits}]}}",
            Point::kFilter, "+NodeName +NodeVolumeLimits -*", "", ""},
        SuccessorCase{"VolumeLimitsDisabled", "v1beta2",
                      "plugins: {filter: {disabled: [{name: AzureDiskLimits}]}}", Point::kFilter, "", "", ""},
        SuccessorCase{
            "NodeLabel", "v1beta1",
            "plugins: {filter: {enabled: [{name: NodeLabel}]}}, pluginConfig: [{name: NodeLabel, args: "
            "{presentLabels: [a], absentLabels: [b]}}]",
            Point::kFilter, "", "NodeAffinity",
            R"({"addedAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)"
            R"({"matchExpressions":[{"key":"a","operator":"Exists"},{"key":"b","operator":"DoesNotExist"}]}]}}})"},
        SuccessorCase{"ConstraintsWithoutAType", "v1beta1",
                      "pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: [{maxSkew: 1}]}}]",
                      Point::kScore, "-VolumeBinding", "PodTopologySpread",
                      R"({"defaultConstraints":[{"maxSkew":1}],"defaultingType":"List"})"},
        SuccessorCase{"UserScoresStorage", "v1beta2", "plugins: {score: {enabled: [{name: VolumeBinding}]}}",
                      Point::kScore, "+VolumeBinding", "", ""},
        SuccessorCase{"MultiPointOfV1Beta2", "v1beta2", "plugins: {multiPoint: {disabled: [{name: '*'}]}}",
                      Point::kScore, "-VolumeBinding", "", ""},
        SuccessorCase{"Unreserve", "v1alpha2", "plugins: {unreserve: {enabled: [{name: Mine}]}}",
                      Point::kReserve, "+Mine", "", ""}),
    [](const auto& row) { return row.param.name; });

struct OldFileCase {
  std::string name;
  std::string text;
  std::string error;
};
class AnOldFile : public testing::TestWithParam<OldFileCase> {};
TEST_P(AnOldFile, IsRejectedForFieldsItsVersionDidNotHave) {
  EXPECT_THAT(ErrorOf(GetParam().text), StartsWith(GetParam().error));
}
INSTANTIATE_TEST_SUITE_P(
    Table, AnOldFile,
    testing::Values(
        OldFileCase{
            "ServiceAffinity",
            Head("v1beta1") + "profiles: [{plugins: {filter: {enabled: [{name: ServiceAffinity}]}}}]",
            "profiles[0].plugins.filter.enabled: plugin \"ServiceAffinity\" was removed from Kubernetes "
            "and has no successor"},
        OldFileCase{
            "TwoStrategies",
            Head("v1beta1") +
                "profiles: [{plugins: {score: {enabled: [{name: NodeResourcesMostAllocated}]}}}]",
            "profiles[0].plugins.score: NodeResourcesLeastAllocated and NodeResourcesMostAllocated score "
            "together"},
        OldFileCase{"UnknownField", Head("v1beta2") + "delayCacheUntilActive: true",
                    "strict decoding error: unknown field \"delayCacheUntilActive\""},
        OldFileCase{"BindAddressInV1Beta3", Head("v1beta3") + "healthzBindAddress: ''",
                    "strict decoding error: unknown field \"healthzBindAddress\""},
        OldFileCase{"MultiPointInV1Beta1", Head("v1beta1") + "profiles: [{plugins: {multiPoint: {}}}]",
                    "strict decoding error: unknown field \"profiles[0].plugins.multiPoint\""},
        OldFileCase{"ParallelismInV1Alpha2", Head("v1alpha2") + "parallelism: 4",
                    "strict decoding error: unknown field \"parallelism\""},
        OldFileCase{"TwoNamesOfTheLock",
                    Head("v1alpha1") + "leaderElection: {resourceName: a, lockObjectName: b}",
                    "ResourceName and LockObjectName are both set and do not match, ResourceName: a, "
                    "LockObjectName: b"},
        OldFileCase{"PolicyInAConfigMap",
                    Head("v1alpha1") + "algorithmSource: {policy: {configMap: {name: p}}}",
                    "algorithmSource.policy.configMap: a policy is not read from the API server"},
        OldFileCase{"UnknownProvider", Head("v1alpha1") + "algorithmSource: {provider: Foo}",
                    "couldn't create scheduler using provider \"Foo\""},
        OldFileCase{"ValidatedToo", Head("v1beta1") + "parallelism: 0",
                    "parallelism: Invalid value: 0: should be an integer value greater than zero"}),
    [](const auto& row) { return row.param.name; });

// --- v1alpha1 ---
TEST(V1Alpha1, HasOneProfileWithFieldsAtTheTopLevel) {
  const SchedulerConfig config = Read(Head("v1alpha1") + R"(
schedulerName: mine
hardPodAffinitySymmetricWeight: 5
disablePreemption: true
bindTimeoutSeconds: 30
percentageOfNodesToScore: 40
healthzBindAddress: 0.0.0.0:10251
failureDomains: zone
leaderElection: {resourceLock: endpoints, lockObjectName: l, lockObjectNamespace: here}
plugins:
  postFilter: {enabled: [{name: Early}]}
  reserve: {enabled: [{name: Mine}]}
  unreserve: {enabled: [{name: Mine}]}
pluginConfig: [{name: Mine, args: {a: 1}}]
)");
  ASSERT_EQ(config.profiles.size(), 1U);
  const Profile& profile = config.profiles[0];
  EXPECT_EQ(profile.scheduler_name, "mine");
  EXPECT_EQ(ArgsOf(profile, "InterPodAffinity"), R"({"hardPodAffinityWeight":5})");
  EXPECT_EQ(ArgsOf(profile, "VolumeBinding"), R"({"bindTimeoutSeconds":30})");
  EXPECT_EQ(ArgsOf(profile, "Mine"), R"({"a":1})");
  EXPECT_EQ(Shown(profile.at(Point::kPostFilter)), "-DefaultPreemption");
  EXPECT_EQ(Shown(profile.at(Point::kPreScore)), "+Early -VolumeBinding");
  EXPECT_EQ(Shown(profile.at(Point::kReserve)), "+Mine");
  EXPECT_EQ(config.percentage_of_nodes_to_score, 40);
  EXPECT_EQ(config.leader_election.resource_lock, "leases");
  EXPECT_EQ(config.leader_election.resource_name, "l");
  EXPECT_EQ(config.leader_election.resource_namespace, "here");
  EXPECT_THAT(config.notes, Contains(HasSubstr("unknown field \"failureDomains\"")));
  EXPECT_THAT(config.notes, Contains(HasSubstr("healthzBindAddress \"0.0.0.0:10251\" has no effect")));
  EXPECT_THAT(config.notes, Contains(HasSubstr("resourceLock \"endpoints\" was removed")));
}

TEST(V1Alpha1, SupportsTheClusterAutoscalerProvider) {
  const SchedulerConfig config =
      Read(Head("v1alpha1") + "algorithmSource: {provider: ClusterAutoscalerProvider}");
  EXPECT_EQ(Shown(config.profiles[0].at(Point::kScore)), "+NodeResourcesFit 1 -VolumeBinding");
  EXPECT_EQ(ArgsOf(config.profiles[0], "NodeResourcesFit"),
            R"({"scoringStrategy":{"type":"MostAllocated"}})");
}

TEST(V1Alpha1, SupportsAPolicyFile) {
  ParseOptions options;
  options.read_file = [](const std::string& path) -> Expected<std::string> {
    EXPECT_EQ(path, "/etc/policy.cfg");
    return R"({"predicates":[{"name":"PodFitsPorts"}],"priorities":[{"name":"ImageLocalityPriority","weight":2}]})";
  };
  const auto config = ParseSchedulerConfig(
      Head("v1alpha1") +
          "schedulerName: s\nalgorithmSource: {policy: {file: {path: /etc/policy.cfg}}}\n"
          "plugins: {filter: {enabled: [{name: Mine}]}}\n",
      options);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(
      Shown(config->profiles[0].at(Point::kFilter)),
      "+NodeUnschedulable +NodePorts +TaintToleration +DynamicResources +NodeDeclaredFeatures +Mine -*");
  EXPECT_EQ(Shown(config->profiles[0].at(Point::kScore)), "+ImageLocality 2 -*");
}

TEST(V1Alpha1, NamesThePolicyFileInItsErrors) {
  const struct {
    std::string policy;
    std::string error;
  } cases[] = {
      {"priorities:\n- {name: x, weight: 1\u200b}\n", "/etc/policy.cfg: json: cannot unmarshal string"},
      {"priorities:\n- {name: x, weight: 1\u200b}\n",
       "; the YAML text has an invisible character: line 2, column 22: U+200B (zero width space): remove"},
      {"a: 1\n\u00a0b\nc: 2\n", "/etc/policy.cfg: yaml: line 2, column 1: U+00A0 (no-break space)"},
  };
  for (const auto& c : cases) {
    ParseOptions options;
    options.read_file = [&](const std::string&) -> Expected<std::string> { return c.policy; };
    const auto config = ParseSchedulerConfig(
        Head("v1alpha1") + "algorithmSource: {policy: {file: {path: /etc/policy.cfg}}}\n", options);
    ASSERT_FALSE(config) << c.policy;
    EXPECT_THAT(config.error().message, HasSubstr(c.error));
  }
}

// --- Policy ---
TEST(Policy, ConvertsPredicatesAndPriorities) {
  const SchedulerConfig config = Read(R"({"predicates":[{"name":"HostName"},{"name":"MatchNodeSelector"},
    {"name":"PodFitsResources"}],"priorities":[{"name":"LeastRequestedPriority","weight":1}],"extenders":[
    {"urlPrefix":"http://e/","filterVerb":"filter","enableHttps":false,"HTTPTimeout":5000000000}]})");
  EXPECT_EQ(config.version, "Policy");
  const Profile& profile = config.profiles[0];
  EXPECT_EQ(profile.scheduler_name, "default-scheduler");
  EXPECT_EQ(Shown(profile.at(Point::kFilter)),
            "+NodeUnschedulable +NodeName +NodeAffinity +NodeResourcesFit +TaintToleration +DynamicResources "
            "+NodeDeclaredFeatures -*");
  EXPECT_EQ(Shown(profile.at(Point::kPreFilter)),
            "+NodeAffinity +NodeResourcesFit +DynamicResources +NodeDeclaredFeatures -*");
  EXPECT_EQ(Shown(profile.at(Point::kScore)), "+NodeResourcesFit 1 -*");
  EXPECT_EQ(Shown(profile.at(Point::kReserve)), "-VolumeBinding");
  ASSERT_EQ(config.extenders.size(), 1U);
  EXPECT_EQ(config.extenders[0].url_prefix, "http://e/");
  EXPECT_EQ(config.extenders[0].http_timeout, std::chrono::seconds(5));
}

TEST(Policy, WithoutListsUsesTheDefaults) {
  const SchedulerConfig config = Read("kind: Policy\napiVersion: v1\nhardPodAffinitySymmetricWeight: 7\n");
  EXPECT_EQ(Shown(config.profiles[0].at(Point::kFilter)), "");
  EXPECT_EQ(ArgsOf(config.profiles[0], "InterPodAffinity"), R"({"hardPodAffinityWeight":7})");
}

TEST(Policy, ConvertsArgumentsForLabelsAndRatios) {
  const SchedulerConfig config = Read(R"({"kind":"Policy","predicates":[{"name":"any","argument":
    {"labelsPresence":{"labels":["a"],"presence":true}}}],"priorities":[{"name":"x","weight":3,"argument":
    {"requestedToCapacityRatioArguments":{"shape":[{"utilization":0,"score":1}]}}},{"name":"EqualPriority","weight":1}]})");
  EXPECT_EQ(Shown(config.profiles[0].at(Point::kScore)), "+NodeResourcesFit 3 -*");
  EXPECT_THAT(ArgsOf(config.profiles[0], "NodeAffinity"), HasSubstr(R"({"key":"a","operator":"Exists"})"));
  EXPECT_THAT(ArgsOf(config.profiles[0], "NodeResourcesFit"), HasSubstr("RequestedToCapacityRatio"));
}

TEST(Policy, IsReadLeniently) {
  const SchedulerConfig config = Read(R"({"Predicates":[{"Name":"HostName"}],"foo":1})");
  EXPECT_TRUE(config.profiles[0].at(Point::kFilter).Enables("NodeName"));
  EXPECT_THAT(config.notes, Contains(HasSubstr("unknown field \"foo\"")));
}

TEST(Policy, SuggestsTheNearestPredicate) {
  EXPECT_EQ(
      ErrorOf(R"({"predicates":[{"name":"PodFitsResource"}]})"),
      "couldn't create scheduler from policy: predicate type not found for \"PodFitsResource\"; did you mean "
      "\"PodFitsResources\"?");
  EXPECT_EQ(
      ErrorOf(R"({"priorities":[{"name":"LeastRequestedPriority"}]})"),
      "couldn't create scheduler from policy: priority LeastRequestedPriority should have a positive weight "
      "applied to it or it has overflown");
  EXPECT_THAT(ErrorOf(R"({"predicates":[{"name":"s","argument":{"serviceAffinity":{"labels":["a"]}}}]})"),
              HasSubstr("plugin \"ServiceAffinity\" was removed"));
  EXPECT_THAT(ErrorOf(R"({"extenders":[{"urlPrefix":"http://e","httpTimeout":"5s"}]})"),
              HasSubstr("cannot unmarshal string into Go struct field Extender.extenders.httpTimeout of type "
                        "time.Duration"));
}

}  // namespace
}  // namespace berth::config
