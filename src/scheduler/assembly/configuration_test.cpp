// Configuration files of every version, up to the resulting plugins: filters, and scores with their weights.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "config/write_config.hpp"
#include "scheduler/assembly/explainer.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"

namespace berth::assembly {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Expected<config::SchedulerConfig> Parse(const std::string& text) {
  static const runtime::Registry registry = InTreePlugins();
  config::ParseOptions options;
  options.codecs = &registry.codecs();
  return config::ParseSchedulerConfig(text, options);
}

struct Built {
  std::unique_ptr<Explainer> explainer;
  std::vector<std::string> notes;
  const runtime::Profile& profile() const { return *explainer->engine().profiles().front(); }
};
Built Build(config::SchedulerConfig config) {
  static const runtime::Registry registry = InTreePlugins();  // plugins refer to its names
  Built built;
  config.extenders.clear();
  auto explainer = Explainer::Create(config, registry, built.notes);
  EXPECT_TRUE(explainer) << explainer.error().message;
  if (explainer) built.explainer = std::move(*explainer);
  return built;
}
std::string Scores(const runtime::Profile& profile) {
  std::vector<std::string> shown;
  for (const auto& score : profile.scores())
    shown.push_back(fmt::format("{} {}", score.plugin->Name(), score.weight));
  return fmt::format("{}", fmt::join(shown, ", "));
}
std::string Filters(const runtime::Profile& profile) {
  std::vector<std::string_view> shown;
  for (const auto* filter : profile.filters()) shown.push_back(filter->Name());
  return fmt::format("{}", fmt::join(shown, " "));
}
std::string Example(const std::string& name) {
  std::ifstream file(std::string(BERTH_EXAMPLES) + "/tutorials/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct VersionCase {
  std::string version;
  std::string scores;
};
class AnOldVersion : public testing::TestWithParam<VersionCase> {};
TEST_P(AnOldVersion, HasTheSamePluginsAndWeights) {
  const auto config = Parse("apiVersion: kubescheduler.config.k8s.io/" + GetParam().version +
                            "\nkind: KubeSchedulerConfiguration\n");
  ASSERT_TRUE(config) << config.error().message;
  const Built built = Build(*config);
  EXPECT_EQ(Scores(built.profile()), GetParam().scores);
  EXPECT_EQ(Filters(built.profile()),
            "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit "
            "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity "
            "DynamicResources NodeDeclaredFeatures");
}
INSTANTIATE_TEST_SUITE_P(
    Table, AnOldVersion,
    testing::Values(
        VersionCase{
            "v1",
            "TaintToleration 3, NodeAffinity 2, NodeResourcesFit 1, VolumeBinding 1, PodTopologySpread "
            "2, InterPodAffinity 2, DynamicResources 2, NodeResourcesBalancedAllocation 1, ImageLocality 1"},
        VersionCase{
            "v1beta3",
            "TaintToleration 3, NodeAffinity 2, NodeResourcesFit 1, PodTopologySpread 2, InterPodAffinity "
            "2, DynamicResources 2, NodeResourcesBalancedAllocation 1, ImageLocality 1"},
        VersionCase{
            "v1beta2",
            "TaintToleration 1, NodeAffinity 1, NodeResourcesFit 1, PodTopologySpread 2, InterPodAffinity "
            "1, DynamicResources 2, NodeResourcesBalancedAllocation 1, ImageLocality 1"},
        VersionCase{
            "v1beta1",
            "TaintToleration 1, NodeAffinity 1, NodeResourcesFit 1, PodTopologySpread 2, InterPodAffinity "
            "1, DynamicResources 2, NodeResourcesBalancedAllocation 1, ImageLocality 1"},
        VersionCase{
            "v1alpha1",
            "TaintToleration 1, NodeAffinity 1, NodeResourcesFit 1, PodTopologySpread 1, InterPodAffinity "
            "1, DynamicResources 2, NodeResourcesBalancedAllocation 1, ImageLocality 1"}),
    [](const auto& row) { return row.param.version; });

// A converted file has the same meaning, and a second conversion changes nothing.
class Conversion : public testing::TestWithParam<std::string> {};
TEST_P(Conversion, KeepsTheMeaning) {
  const runtime::Registry registry = InTreePlugins();
  const auto old = Parse(Example(GetParam()));
  ASSERT_TRUE(old) << old.error().message;
  const std::string converted = config::WriteConfigYaml(*old, registry.codecs());
  const auto again = Parse(converted);
  ASSERT_TRUE(again) << again.error().message << converted;
  EXPECT_EQ(again->version, "kubescheduler.config.k8s.io/v1");
  EXPECT_EQ(config::WriteConfigYaml(*again, registry.codecs()), converted);
  const Built before = Build(*old);
  const Built after = Build(*again);
  EXPECT_EQ(Scores(before.profile()), Scores(after.profile()));
  EXPECT_EQ(Filters(before.profile()), Filters(after.profile()));
}
INSTANTIATE_TEST_SUITE_P(Examples, Conversion,
                         testing::Values("network-traffic/networktraffic-config.yaml",
                                         "custom/scheduler-config.yaml",
                                         "sample-plugin/scheduler-config.yaml",
                                         "extender-policy/policy.json"));

TEST(Tutorials, LoadUnchanged) {
  const auto traffic = Parse(Example("network-traffic/networktraffic-config.yaml"));
  ASSERT_TRUE(traffic) << traffic.error().message;
  const Built built = Build(*traffic);
  EXPECT_EQ(Scores(built.profile()), "NetworkTraffic 1");
  EXPECT_THAT(built.notes, testing::IsEmpty());

  const auto custom = Parse(Example("custom/scheduler-config.yaml"));
  ASSERT_TRUE(custom) << custom.error().message;
  EXPECT_EQ(custom->leader_election.resource_name, "custom-scheduler");
  EXPECT_FALSE(custom->leader_election.leader_elect);
  EXPECT_EQ(custom->profiles[0].scheduler_name, "custom-scheduler");
  EXPECT_THAT(Scores(Build(*custom).profile()), HasSubstr("custom 1"));

  const auto sample = Parse(Example("sample-plugin/scheduler-config.yaml"));
  ASSERT_TRUE(sample) << sample.error().message;
  EXPECT_EQ(sample->leader_election.resource_name, "sample-scheduler");
  EXPECT_THAT(Filters(Build(*sample).profile()), HasSubstr("sample-plugin"));

  const auto policy = Parse(Example("extender-policy/policy.json"));
  ASSERT_TRUE(policy) << policy.error().message;
  ASSERT_EQ(policy->extenders.size(), 1U);
  EXPECT_EQ(policy->extenders[0].filter_verb, "filter");
  EXPECT_EQ(Scores(Build(*policy).profile()), "NodeResourcesFit 1");
  EXPECT_EQ(Filters(Build(*policy).profile()),
            "NodeUnschedulable NodeName NodeAffinity NodeResourcesFit TaintToleration DynamicResources "
            "NodeDeclaredFeatures");
}

// Each profile has a plugin that takes one of the 64 marks of an attempt.
TEST(Engine, HasAtMostSixtyProfiles) {
  const auto build = [](int profiles) {
    std::string text =
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n";
    for (int i = 0; i < profiles; ++i) text += fmt::format("- schedulerName: s{}\n", i);
    const auto config = Parse(text);
    EXPECT_TRUE(config);
    std::vector<std::string> notes;
    const auto built = Explainer::Create(*config, InTreePlugins(), notes);
    return built ? "" : built.error().message;
  };
  EXPECT_EQ(build(60), "");
  EXPECT_EQ(build(61), "profiles: expected at most 60, got 61");
}

TEST(Engine, RejectsExtendersWithoutATransport) {
  const auto policy = Parse(Example("extender-policy/policy.json"));
  ASSERT_TRUE(policy);
  std::vector<std::string> notes;
  const auto built = Explainer::Create(*policy, InTreePlugins(), notes);
  ASSERT_FALSE(built);
  EXPECT_THAT(built.error().message,
              StartsWith("extenders[0]: extender \"http://127.0.0.1:12345/api/scheduler\" cannot be called "
                         "by this command"));
}

struct BuildCase {
  std::string name;
  std::string plugins;
  std::string error;
};
class AProfile : public testing::TestWithParam<BuildCase> {};
TEST_P(AProfile, IsRejectedForInvalidPluginSets) {
  const auto config = Parse(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{plugins: {" +
      GetParam().plugins + "}}]\n");
  ASSERT_TRUE(config) << config.error().message;
  std::vector<std::string> notes;
  const auto built = Explainer::Create(*config, InTreePlugins(), notes);
  ASSERT_FALSE(built);
  EXPECT_EQ(
      built.error().message,
      "initializing profiles: creating profile for scheduler name default-scheduler: " + GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Table, AProfile,
    testing::Values(
        BuildCase{"NegativeWeight", "score: {enabled: [{name: NodeAffinity, weight: -1}]}",
                  "score plugins: total score of Score plugins could overflow"},
        BuildCase{"NoPlacementScore", "placementScore: {enabled: [{name: NodeName}]}",
                  "plugin \"NodeName\" does not extend PlacementScorePlugin plugin"},
        BuildCase{"NoPlacements", "placementGenerate: {enabled: [{name: NodeName}]}",
                  "plugin \"NodeName\" does not extend PlacementGeneratePlugin plugin"},
        BuildCase{"NoPodGroups", "podGroupPostFilter: {enabled: [{name: NodeName}]}",
                  "plugin \"NodeName\" does not extend PodGroupPostFilterPlugin plugin"},
        BuildCase{"Slip", "score: {enabled: [{name: NodeResourceFit}]}",
                  "ScorePlugin \"NodeResourceFit\" does not exist; did you mean \"NodeResourcesFit\"?"}),
    [](const auto& row) { return row.param.name; });

// --- replacement of the configuration in use ---

struct ReplacementCase {
  std::string name;
  std::string before, after;  // fields of the only profile
  std::string error;          // empty: none
};
class AReplacement : public testing::TestWithParam<ReplacementCase> {};
TEST_P(AReplacement, NeedsARestartForWhatTheStartHasNotRead) {
  const auto build = [](const std::string& profile) {
    const auto config =
        Parse("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{" +
              profile + "}]\n");
    EXPECT_TRUE(config) << config.error().message;
    return Build(*config);
  };
  const Built before = build(GetParam().before), after = build(GetParam().after);
  ASSERT_TRUE(before.explainer && after.explainer);
  const auto replaceable = before.explainer->engine().CheckReplacement(after.explainer->engine());
  EXPECT_EQ(replaceable ? "" : replaceable.error().message, GetParam().error);
}
std::string Enabled(const std::string& plugin) {
  return "plugins: {multiPoint: {enabled: [{name: " + plugin + "}]}}";
}
const std::string kCoscheduling =
    "plugins: {multiPoint: {disabled: [{name: PrioritySort}], enabled: [{name: Coscheduling}]}}";
const std::string kLoadAware =
    Enabled("LoadAware") +
    ", pluginConfig: [{name: LoadAware, args: {prometheusAddress: 'http://p', "
    "preset: none, signals: [{name: busy, query: 'max by ($node) (up)', full: 1, estimate: {from: none}}]}}]";
INSTANTIATE_TEST_SUITE_P(
    Table, AReplacement,
    testing::Values(
        ReplacementCase{"OfDefaultPlugins", "", "percentageOfNodesToScore: 5", ""},
        ReplacementCase{"ThatReadsAResource", "", Enabled("CapacityScheduling"),
                        "a plugin reads elasticquotas.scheduling.x-k8s.io, which are not watched"},
        ReplacementCase{"ThatReadsAWatchedResource", Enabled("CapacityScheduling"),
                        Enabled("CapacityScheduling") + ", percentageOfNodesToScore: 5", ""},
        ReplacementCase{"ThatReadsNoResourceAnyMore", Enabled("CapacityScheduling"), "", ""},
        ReplacementCase{"ThatReadsAnAnnotation", "", Enabled("DataLocality"),
                        "a plugin reads the annotation \"scheduling.berth.dev/preferred-hosts\" of pods, "
                        "which is not kept in memory"},
        ReplacementCase{"ThatReadsAMeasurement", "", kLoadAware,
                        "the measurement \"busy\" of the source \"http://p\" is not polled"},
        ReplacementCase{"ThatReadsAPolledMeasurement", kLoadAware, kLoadAware, ""},
        ReplacementCase{"ThatGroupsPodsNoMore", kCoscheduling, "",
                        "a profile enables Coscheduling or Gangs, whose arguments define the groups of all "
                        "pods"}),
    [](const auto& row) { return row.param.name; });

struct ArgsCase {
  std::string name;
  std::string args;
  std::string error;
};
class NetworkTrafficArgs : public testing::TestWithParam<ArgsCase> {};
TEST_P(NetworkTrafficArgs, AreValidated) {
  const auto config = Parse(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: "
      "[{pluginConfig: "
      "[{name: NetworkTraffic, args: " +
      GetParam().args + "}]}]\n");
  EXPECT_EQ(config ? "" : config.error().message, GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Table, NetworkTrafficArgs,
    testing::Values(
        ArgsCase{"Right", "{prometheusAddress: 'http://p:9090', timeRangeInMinutes: 3}", ""},
        ArgsCase{"OtherNames", "{ip: 'http://p:9090', deviceName: eth0, timeRange: 3}", ""},
        ArgsCase{"NoAddress", "{}",
                 "profiles[0].pluginConfig[0].args.prometheusAddress: Required value: must be the URL of a "
                 "Prometheus server, like http://prometheus-server.monitoring:9090"},
        ArgsCase{
            "NoScheme", "{prometheusAddress: 'p:9090'}",
            "profiles[0].pluginConfig[0].args.prometheusAddress: Invalid value: \"p:9090\": must begin with "
            "http:// or https://, or be the name of a source in --berth-metric-sources"},
        ArgsCase{
            "NoTime", "{prometheusAddress: 'http://p', timeRangeInMinutes: 0}",
            "profiles[0].pluginConfig[0].args.timeRangeInMinutes: Invalid value: 0: must be greater than "
            "zero"},
        ArgsCase{"PasswordInTheAddress", "{prometheusAddress: 'http://u:secret@p:9090'}",
                 "profiles[0].pluginConfig[0].args.prometheusAddress: Invalid value: "
                 "\"http://u:xxxxx@p:9090\": must "
                 "not contain a password; describe the source with basicAuth in --berth-metric-sources, and "
                 "give its "
                 "name here"},
        ArgsCase{
            "Unlisted", "{prometheusAddres: 'http://p'}",
            "strict decoding error: decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding "
            "args for plugin NetworkTraffic: strict decoding error: unknown field \"prometheusAddres\"; did "
            "you mean \"prometheusAddress\"?"}),
    [](const auto& row) { return row.param.name; });

TEST(WriteConfig, SecretsAreWrittenToFilesOnly) {
  const runtime::Registry registry = InTreePlugins();
  config::SchedulerConfig config = config::DefaultSchedulerConfig({}, &registry.codecs());
  config::ExtenderConfig& extender = config.extenders.emplace_back();
  extender.url_prefix = "https://user:hidden-url@host/path";
  extender.tls.emplace().key_data = "hidden-key";
  extender.tls->cert_data = "shown-certificate";
  config.profiles[0].at(config::Point::kMultiPoint).enabled.push_back({"Custom", 1});
  yaml::Value& args = config.profiles[0].plugin_args["Custom"] = yaml::Value::Map();
  args.Set("Password", yaml::Value::Text("hidden-password"));
  args.Set("tokens", yaml::Value::Text("shown-text"));
  yaml::Value& servers = args.Set("servers", yaml::Value::List());
  servers.items.push_back(yaml::Value::Map());
  servers.items[0].Set("bearerToken", yaml::Value::Text("hidden-token"));
  servers.items[0].Set("address", yaml::Value::Text("http://u:hidden-address@p"));

  const std::string file = config::WriteConfigYaml(config, registry.codecs());
  for (const char* secret : {"url", "key", "password", "token", "address"})
    EXPECT_THAT(file, HasSubstr(std::string("hidden-") + secret));
  for (const std::string& shown : {config::WriteConfigz(config, registry.codecs()),
                                   config::WriteConfigForLog(config, registry.codecs())}) {
    EXPECT_THAT(shown, Not(HasSubstr("hidden")));
    EXPECT_THAT(shown, HasSubstr("https://user:xxxxx@host/path"));
    EXPECT_THAT(shown, HasSubstr("REDACTED"));
    EXPECT_THAT(shown, HasSubstr("shown-certificate"));
    EXPECT_THAT(shown, HasSubstr("shown-text"));
  }
}

TEST(WriteConfig, WritesTheConfigurationAsOneLine) {
  const runtime::Registry registry = InTreePlugins();
  const auto config = config::DefaultSchedulerConfig({}, &registry.codecs());
  const std::string line = config::WriteConfigz(config, registry.codecs());
  EXPECT_THAT(line, StartsWith("{\"componentconfig\":{\"apiVersion\":\"kubescheduler.config.k8s.io/v1\","
                               "\"clientConnection\":{\"acceptContentTypes\":\"\",\"burst\":100,"));
  EXPECT_THAT(line, HasSubstr("{\"args\":{\"apiVersion\":\"kubescheduler.config.k8s.io/v1\",\"kind\":"
                              "\"NodeAffinityArgs\"},\"name\":\"NodeAffinity\"}"));
  EXPECT_THAT(line, Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace berth::assembly
