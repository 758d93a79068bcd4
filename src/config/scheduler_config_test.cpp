#include "config/scheduler_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/write_config.hpp"

namespace berth::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kHead =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

Expected<SchedulerConfig> Parse(const std::string& body) { return ParseSchedulerConfig(kHead + body); }
std::string ErrorOfV1(const std::string& body) {
  const auto config = Parse(body);
  return config ? "no error" : config.error().message;
}
std::vector<std::string> MultiPoint(const Profile& profile) {
  std::vector<std::string> names;
  for (const PluginRef& plugin : profile.at(Point::kMultiPoint).enabled) {
    names.push_back(plugin.weight == 0 ? plugin.name : fmt::format("{}({})", plugin.name, plugin.weight));
  }
  return names;
}

// --- defaults ---
TEST(SchedulerConfig, WithoutAFileIsTheDefault) {
  const SchedulerConfig config = DefaultSchedulerConfig();
  EXPECT_EQ(config.parallelism, 16);
  EXPECT_EQ(config.percentage_of_nodes_to_score, 0);
  EXPECT_EQ(config.pod_initial_backoff.count(), 1);
  EXPECT_EQ(config.pod_max_backoff.count(), 10);
  EXPECT_TRUE(config.leader_election.leader_elect);
  ASSERT_EQ(config.profiles.size(), 1U);
  EXPECT_EQ(config.profiles[0].scheduler_name, "default-scheduler");
  EXPECT_THAT(MultiPoint(config.profiles[0]),
              ElementsAre("SchedulingGates", "PrioritySort", "NodeName", "NodeUnschedulable",
                          "TaintToleration(3)", "NodeAffinity(2)", "NodePorts", "NodeResourcesFit(1)",
                          "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone",
                          "PodTopologySpread(2)", "InterPodAffinity(2)", "DynamicResources(2)",
                          "DefaultPreemption", "NodeResourcesBalancedAllocation(1)", "ImageLocality(1)",
                          "DefaultBinder", "NodeDeclaredFeatures"));
}

TEST(SchedulerConfig, AnEmptyFileIsTheDefaultToo) {
  const auto config = Parse("");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(MultiPoint(config->profiles[0]), MultiPoint(DefaultSchedulerConfig().profiles[0]));
}

TEST(SchedulerConfig, ReadsEveryField) {
  const auto config = Parse(R"(
parallelism: 4
percentageOfNodesToScore: 30
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
leaderElection: {leaderElect: false, leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s, resourceLock: leases, resourceName: a, resourceNamespace: b}
clientConnection: {kubeconfig: /etc/k, acceptContentTypes: "", contentType: application/json, qps: 50, burst: 100}
enableProfiling: true
enableContentionProfiling: true
profiles:
- schedulerName: mine
  percentageOfNodesToScore: 70
  pluginConfig:
  - name: NodeAffinity
    args: {kind: NodeAffinityArgs}
  - name: Unlisted
- schedulerName: other
)");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->parallelism, 4);
  EXPECT_EQ(config->percentage_of_nodes_to_score, 30);
  EXPECT_EQ(config->pod_initial_backoff.count(), 2);
  EXPECT_EQ(config->pod_max_backoff.count(), 20);
  EXPECT_FALSE(config->leader_election.leader_elect);
  EXPECT_EQ(config->client_connection.kubeconfig, "/etc/k");
  EXPECT_EQ(config->client_connection.qps, 50);
  EXPECT_EQ(config->client_connection.burst, 100);
  EXPECT_THAT(config->notes, testing::IsEmpty());
  ASSERT_EQ(config->profiles.size(), 2U);
  EXPECT_EQ(config->profiles[0].scheduler_name, "mine");
  EXPECT_EQ(config->profiles[0].percentage_of_nodes_to_score, 70);
  EXPECT_EQ(config->profiles[0].plugin_args.at("NodeAffinity").Find("kind")->text, "NodeAffinityArgs");
  EXPECT_EQ(config->profiles[0].args_paths.at("NodeAffinity"), "profiles[0].pluginConfig[0].args");
  EXPECT_FALSE(config->profiles[0].plugin_args.contains("Unlisted"));
  EXPECT_EQ(config->profiles[1].percentage_of_nodes_to_score, std::nullopt);
}

TEST(SchedulerConfig, MayBeJson) {
  const auto config = ParseSchedulerConfig(
      R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","parallelism":3})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->parallelism, 3);
}

TEST(SchedulerConfig, ASingleProfileNeedsNoName) {
  EXPECT_EQ(Parse("profiles: [{percentageOfNodesToScore: 5}]")->profiles[0].scheduler_name,
            "default-scheduler");
  const auto null_name = Parse("profiles: [{schedulerName: }]");
  ASSERT_TRUE(null_name) << "null is as good as absent: " << null_name.error().message;
  EXPECT_EQ(null_name->profiles[0].scheduler_name, "default-scheduler");
}

// --- plugin sets ---
struct MergeCase {
  std::string name;
  std::string multi_point;
  std::vector<std::string> first;  // of the merged list
  std::vector<std::string> last;
  std::size_t size;
};
class MultiPointMerge : public testing::TestWithParam<MergeCase> {};
TEST_P(MultiPointMerge, MergesTheUsersSetIntoTheDefaults) {
  const auto config = Parse("profiles: [{plugins: {multiPoint: " + GetParam().multi_point + "}}]");
  ASSERT_TRUE(config) << config.error().message;
  const auto merged = MultiPoint(config->profiles[0]);
  ASSERT_EQ(merged.size(), GetParam().size);
  EXPECT_EQ(
      std::vector(merged.begin(), merged.begin() + static_cast<std::ptrdiff_t>(GetParam().first.size())),
      GetParam().first);
  EXPECT_EQ(std::vector(merged.end() - static_cast<std::ptrdiff_t>(GetParam().last.size()), merged.end()),
            GetParam().last);
}
INSTANTIATE_TEST_SUITE_P(
    Table, MultiPointMerge,
    testing::Values(
        MergeCase{"NothingGiven", "{}", {"SchedulingGates"}, {"NodeDeclaredFeatures"}, 20},
        MergeCase{"OneDisabled", "{disabled: [{name: SchedulingGates}]}", {"PrioritySort"}, {}, 19},
        MergeCase{"AllDisabled",
                  "{disabled: [{name: '*'}], enabled: [{name: B}, {name: A}]}",
                  {"B", "A"},
                  {"B", "A"},
                  2},
        MergeCase{"NewOnesFollowInTheirOrder",
                  "{enabled: [{name: Z}, {name: A}]}",
                  {"SchedulingGates"},
                  {"Z", "A"},
                  22},
        MergeCase{"ADefaultNamedAgainKeepsItsPlaceAndTakesTheWeight",
                  "{enabled: [{name: SchedulingGates, weight: 5}, {name: Z}]}",
                  {"SchedulingGates(5)", "PrioritySort"},
                  {"Z"},
                  21},
        MergeCase{"DisabledAndNamedAgainItComesLast",
                  "{disabled: [{name: PrioritySort}], enabled: [{name: PrioritySort, weight: 7}]}",
                  {"SchedulingGates", "NodeName"},
                  {"NodeDeclaredFeatures", "PrioritySort(7)"},
                  20},
        MergeCase{"DisablingAnUnknownPluginIsValid",
                  "{disabled: [{name: Unlisted}]}",
                  {"SchedulingGates"},
                  {},
                  20}),
    [](const auto& row) { return row.param.name; });

TEST(PluginSets, EveryPointOfTheFileIsRead) {
  std::string plugins;
  for (std::size_t i = 0; i < kPointCount; ++i) {
    if (static_cast<Point>(i) == Point::kQueueSort) continue;
    plugins += fmt::format("{}: {{enabled: [{{name: P{}}}], disabled: [{{name: D}}]}}, ",
                           PointName(static_cast<Point>(i)), i);
  }
  const auto config = Parse("profiles: [{plugins: {" + plugins + "}}]");
  ASSERT_TRUE(config) << config.error().message;
  for (std::size_t i = 0; i < kPointCount; ++i) {
    const auto point = static_cast<Point>(i);
    if (point == Point::kQueueSort) continue;
    EXPECT_EQ(config->profiles[0].at(point).enabled.back().name, "P" + std::to_string(i)) << PointName(point);
    EXPECT_TRUE(config->profiles[0].at(point).Disables("D"));
    EXPECT_FALSE(config->profiles[0].at(point).DisablesAll());
  }
}

// --- mistakes ---
struct InvalidConfigCase {
  std::string name;
  std::string body;
  std::string error;
};
class AnInvalidConfig : public testing::TestWithParam<InvalidConfigCase> {};
TEST_P(AnInvalidConfig, IsReportedWithTheTextsOfKubernetes) {
  EXPECT_EQ(ErrorOfV1(GetParam().body), GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Strictness, AnInvalidConfig,
    testing::Values(
        InvalidConfigCase{"UnknownField", "foo: 1", "strict decoding error: unknown field \"foo\""},
        InvalidConfigCase{
            "UnknownFieldsTogetherWithHints", "paralelism: 1\nprofiles: [{schedulerNam: x, bar: 1}]",
            "strict decoding error: unknown field \"paralelism\", unknown field \"profiles[0].bar\", "
            "unknown field \"profiles[0].schedulerNam\"; did you mean \"parallelism\"? did you mean "
            "\"schedulerName\"?"},
        InvalidConfigCase{
            "UnknownFieldOfAPlugin", "profiles: [{plugins: {filter: {enabled: [{nme: x}]}}}]",
            "strict decoding error: unknown field \"profiles[0].plugins.filter.enabled[0].nme\"; did "
            "you mean \"name\"?"},
        InvalidConfigCase{
            "UnknownPoint", "profiles: [{plugins: {filters: {}}}]",
            "strict decoding error: unknown field \"profiles[0].plugins.filters\"; did you mean \"filter\"?"},
        InvalidConfigCase{
            "RepeatedField", "parallelism: 1\nparallelism: 2",
            "strict decoding error: yaml: unmarshal errors:\n  line 4: key \"parallelism\" already "
            "set in map"},
        InvalidConfigCase{"TextForANumber", "parallelism: many",
                          "json: cannot unmarshal string into Go struct field "
                          "KubeSchedulerConfiguration.parallelism of type int32"},
        InvalidConfigCase{"FractionForANumber", "parallelism: 1.5",
                          "json: cannot unmarshal number 1.5 into Go struct field "
                          "KubeSchedulerConfiguration.parallelism of type int32"},
        InvalidConfigCase{"NumberTooWide", "parallelism: 2147483648",
                          "json: cannot unmarshal number 2147483648 into Go struct field "
                          "KubeSchedulerConfiguration.parallelism of type int32"},
        InvalidConfigCase{"NumberForAName", "profiles: [{schedulerName: 5}]",
                          "json: cannot unmarshal number into Go struct field "
                          "KubeSchedulerProfile.profiles.schedulerName of type string"},
        InvalidConfigCase{"QuotedBoolean", "leaderElection: {leaderElect: 'true'}",
                          "json: cannot unmarshal string into Go struct field "
                          "LeaderElectionConfiguration.leaderElection.leaderElect of type bool"},
        InvalidConfigCase{"RepeatedPluginConfig",
                          "profiles: [{pluginConfig: [{name: NodeAffinity}, {name: NodeAffinity}]}]",
                          "profiles[0].pluginConfig[1]: Duplicate value: \"NodeAffinity\""}),
    [](const auto& row) { return row.param.name; });
INSTANTIATE_TEST_SUITE_P(
    Values, AnInvalidConfig,
    testing::Values(
        InvalidConfigCase{"Parallelism", "parallelism: 0",
                          "parallelism: Invalid value: 0: should be an integer value greater than zero"},
        InvalidConfigCase{"PercentageTooSmall", "percentageOfNodesToScore: -1",
                          "percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]"},
        InvalidConfigCase{
            "PercentageTooLarge", "profiles: [{percentageOfNodesToScore: 101}]",
            "profiles[0].percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"},
        InvalidConfigCase{"InitialBackoff", "podInitialBackoffSeconds: 0",
                          "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"},
        InvalidConfigCase{"MaxBackoff", "podInitialBackoffSeconds: 5\npodMaxBackoffSeconds: 4",
                          "podMaxBackoffSeconds: Invalid value: 4: must be greater than or equal to "
                          "PodInitialBackoffSeconds"},
        InvalidConfigCase{"EmptyName", "profiles: [{schedulerName: ''}]",
                          "profiles[0].schedulerName: Required value"},
        InvalidConfigCase{"OneOfSeveralWithoutName", "profiles: [{schedulerName: a}, {}]",
                          "profiles[1].schedulerName: Required value"},
        InvalidConfigCase{"RepeatedName", "profiles: [{schedulerName: a}, {schedulerName: a}]",
                          "profiles[1].schedulerName: Duplicate value: {}"},
        InvalidConfigCase{
            "TwoQueueSorts", "profiles: [{plugins: {queueSort: {enabled: [{name: A}, {name: B}]}}}]",
            "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can "
            "be enabled"},
        InvalidConfigCase{
            "DifferentQueueSorts",
            "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {enabled: [{name: A}], "
            "disabled: [{name: '*'}]}}}]",
            "profiles[1].plugins.queueSort: Invalid value: "
            "{\"Enabled\":[{\"Name\":\"A\",\"Weight\":0}],\"Disabled\":[{\"Name\":\"*\",\"Weight\":0}]}: "
            "must be "
            "the same for all profiles"},
        InvalidConfigCase{
            "DifferentArgumentsOfTheQueueSort",
            "profiles:\n"
            "- {schedulerName: a, plugins: {queueSort: {enabled: [{name: A}]}}, pluginConfig: [{name: A, "
            "args: {x: 1}}]}\n"
            "- {schedulerName: b, plugins: {queueSort: {enabled: [{name: A}]}}, pluginConfig: [{name: A, "
            "args: {z: 3, x: 2}}]}\n",
            "profiles[1].pluginConfig.args: Invalid value: {\"x\":2,\"z\":3}: queueSort must be the same for "
            "all profiles"},
        InvalidConfigCase{
            "ArgumentsOfTheQueueSortNotInTheFirstProfile",
            "profiles:\n"
            "- {schedulerName: a, plugins: {queueSort: {enabled: [{name: A}]}}}\n"
            "- {schedulerName: b, plugins: {queueSort: {enabled: [{name: A}]}}, pluginConfig: [{name: A, "
            "args: {x: 2}}]}\n",
            "profiles[1].pluginConfig.args: Invalid value: {\"x\":2}: queueSort must be the same for all "
            "profiles"},
        InvalidConfigCase{"SeveralTogether", "parallelism: -1\nprofiles: [{schedulerName: a}, {}]",
                          "[parallelism: Invalid value: -1: should be an integer value greater than zero, "
                          "profiles[1].schedulerName: Required "
                          "value]"}),
    [](const auto& row) { return row.param.name; });

TEST(AnInvalidConfig, WithoutKindIsReportedWithItsText) {
  const auto error = [](const char* text) { return ParseSchedulerConfig(text).error().message; };
  EXPECT_THAT(error(""), StartsWith("Object 'Kind' is missing in ''; expected"));
  EXPECT_THAT(error("apiVersion: v1\n"), StartsWith("Object 'Kind' is missing in 'apiVersion: v1\n'; "));
  EXPECT_THAT(error("kind: X\n"), StartsWith("Object 'apiVersion' is missing in 'kind: X\n'; "));
  EXPECT_THAT(error("kind: X\napiVersion: v1\n"),
              StartsWith("no kind \"X\" is registered for version \"v1\" in scheme "));
  EXPECT_THAT(error("kind: KubeSchedulerConfiguration\napiVersion: kubescheduler.config.k8s.io/v2\n"),
              testing::AllOf(StartsWith("no kind \"KubeSchedulerConfiguration\" is registered for version "
                                        "\"kubescheduler.config.k8s.io/v2\""),
                             HasSubstr("one of v1, v1beta3, v1beta2, v1beta1, v1alpha2, v1alpha1")));
}

TEST(AnInvalidConfig, WithInvalidYamlIsReportedWithTheLine) {
  EXPECT_THAT(ErrorOfV1("profiles: [{\n"), StartsWith("yaml: line "));
}

TEST(AnInvalidConfig, NamesTheInvisibleCharacterOfAFieldOrValue) {
  EXPECT_THAT(ErrorOfV1("percentageOfNodesToScore\u00a0: 50\n"),
              HasSubstr("; the YAML text has an invisible character: line 3, column 25: U+00A0 (no-break "
                        "space): expected a space"));
  EXPECT_THAT(ErrorOfV1("percentageOfNodesToScore: 50\u200b\n"),
              HasSubstr("; the YAML text has an invisible character: line 3, column 29: U+200B (zero width "
                        "space): remove this invisible character"));
  EXPECT_THAT(ErrorOfV1("profiles: [{schedulerName: a}, {schedulerName: a}] # of\u00a0two\n"),
              testing::Not(HasSubstr("U+00A0")));
  const auto accepted = Parse("profiles: [{schedulerName: mine\u200b}]\n");
  ASSERT_TRUE(accepted) << accepted.error().message;
  EXPECT_THAT(
      accepted->notes,
      ElementsAre("the configuration has an invisible character: line 3, column 32: U+200B (zero width "
                  "space): remove this invisible character"));
}

TEST(AnInvalidConfig, NestingIsLimited) {
  EXPECT_THAT(ErrorOfV1("profiles: " + std::string(150, '[') + std::string(150, ']')),
              HasSubstr("nested deeper than 100 levels"));
}

// --- extenders ---
TEST(Extenders, HaveAllFieldsRead) {
  const auto config = Parse(R"(
extenders:
- urlPrefix: https://e/
  filterVerb: filter
  preemptVerb: preempt
  prioritizeVerb: prioritize
  bindVerb: bind
  weight: 5
  enableHTTPS: true
  tlsConfig: {serverName: e, certFile: /c, keyFile: /k, caData: aGVsbG8=}
  httpTimeout: 200ms
  nodeCacheCapable: true
  managedResources: [{name: example.com/nic, ignoredByScheduler: true}]
  ignorable: true
- urlPrefix: http://other
)");
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_EQ(config->extenders.size(), 2U);
  const ExtenderConfig& first = config->extenders[0];
  EXPECT_EQ(first.url_prefix, "https://e/");
  EXPECT_EQ(first.filter_verb + first.preempt_verb + first.prioritize_verb + first.bind_verb,
            "filterpreemptprioritizebind");
  EXPECT_EQ(first.weight, 5);
  EXPECT_TRUE(first.enable_https && first.node_cache_capable && first.ignorable);
  ASSERT_TRUE(first.tls);
  EXPECT_EQ(first.tls->ca_data, "aGVsbG8=");
  EXPECT_EQ(first.http_timeout, std::chrono::milliseconds(200));
  ASSERT_EQ(first.managed_resources.size(), 1U);
  EXPECT_TRUE(first.managed_resources[0].ignored_by_scheduler);
  EXPECT_EQ(config->extenders[1].http_timeout, std::chrono::seconds(5)) << "the default";
}

TEST(Extenders, InvalidBase64IsReportedWithTheOffsetOfGosDecoder) {
  const std::pair<const char*, int> cases[] = {
      {"a!bc", 1}, {"YWJjZA", 4}, {"YWJjZ", 4},    {"YWJjZA=", 7},     {"YQ=a", 2},
      {"=", 0},    {"Y=", 1},     {"YWI=YWJj", 4}, {"YQ==\\nYQ==", 5}, {"YWJj\\n!", 5}};
  for (const auto& [text, offset] : cases) {
    EXPECT_EQ(
        ErrorOfV1(fmt::format("extenders: [{{tlsConfig: {{caData: \"{}\"}}}}]", text)),
        fmt::format("illegal base64 data at input byte {}; expected extenders[0].tlsConfig.caData as base64",
                    offset))
        << text;
  }
}

TEST(WriteConfig, WrittenLimitsThatAreNotSetAddANote) {
  EXPECT_EQ(NoteOnWrittenLimits(*Parse("")),
            "clientConnection: the written qps 50 and burst 100 limit requests; remove both for no limit");
  EXPECT_EQ(NoteOnWrittenLimits(*Parse("clientConnection: {qps: 50}")), "");
}

TEST(SchedulerConfig, NumbersBeyondTheirTypeAreErrors) {
  EXPECT_EQ(ErrorOfV1("clientConnection: {qps: 1e39}"),
            "json: cannot unmarshal number 1e+39 into Go struct field "
            "ClientConnectionConfiguration.clientConnection.qps of type float32");
  EXPECT_EQ(ErrorOfV1("clientConnection: {qps: 3e38}"), "no error");
}

// As the program base64 prints it, which Go's decoder accepts.
TEST(Extenders, Base64MayHaveLineBreaks) {
  const auto config = Parse(R"(
extenders:
- urlPrefix: https://e/
  tlsConfig:
    caData: |
      aGVs
      bG8=
)");
  EXPECT_TRUE(config) << config.error().message;
}
INSTANTIATE_TEST_SUITE_P(
    Extenders, AnInvalidConfig,
    testing::Values(
        InvalidConfigCase{"NoWeight", "extenders: [{urlPrefix: x, prioritizeVerb: p}]",
                          "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"},
        InvalidConfigCase{
            "TwoBinders", "extenders: [{bindVerb: b}, {bindVerb: b}]",
            "extenders: Invalid value: \"found 2 extenders implementing bind\": only one extender can "
            "implement bind"},
        InvalidConfigCase{
            "NoExtendedResource", "extenders: [{managedResources: [{name: cpu}]}]",
            "extenders[0].managedResources[0].name: Invalid value: \"cpu\": is an invalid extended "
            "resource name"},
        InvalidConfigCase{
            "ResourceTwice",
            "extenders: [{managedResources: [{name: a.b/c}]}, {managedResources: [{name: a.b/c}]}]",
            "extenders[1].managedResources[0].name: Invalid value: \"a.b/c\": duplicate extender managed "
            "resource name"},
        InvalidConfigCase{"OldKey", "extenders: [{enableHttps: true}]",
                          "strict decoding error: unknown field \"extenders[0].enableHttps\"; did you mean "
                          "\"enableHTTPS\"?"},
        InvalidConfigCase{
            "TimeoutInNanoseconds", "extenders: [{httpTimeout: 5000}]",
            "json: cannot unmarshal number into Go struct field Extender.extenders.httpTimeout of type "
            "string"}),
    [](const auto& row) { return row.param.name; });
INSTANTIATE_TEST_SUITE_P(
    LeaderElection, AnInvalidConfig,
    testing::Values(
        InvalidConfigCase{
            "Lock", "leaderElection: {resourceLock: endpoints}",
            "leaderElection.resourceLock: Invalid value: \"endpoints\": resourceLock value must be "
            "\"leases\""},
        InvalidConfigCase{"LeaseTooShort", "leaderElection: {leaseDuration: 5s}",
                          "leaderElection.leaseDuration: Invalid value: \"10s\": must be greater than "
                          "`RenewDeadline`"},
        InvalidConfigCase{
            "NoUnit", "leaderElection: {leaseDuration: '15'}",
            "time: missing unit in duration \"15\"; expected leaderElection.leaseDuration like \"15s\" or "
            "\"1m30s\""},
        InvalidConfigCase{
            "UnknownUnit", "leaderElection: {retryPeriod: 15x}",
            "time: unknown unit \"x\" in duration \"15x\"; expected leaderElection.retryPeriod like "
            "\"15s\" or \"1m30s\""},
        InvalidConfigCase{"Infinite", "parallelism: .inf", "json: unsupported value: +Inf"}),
    [](const auto& row) { return row.param.name; });

TEST(SchedulerConfig, ProfilesMayRepeatOrOmitTheArgumentsOfTheQueueSort) {
  const std::string sort = "plugins: {queueSort: {enabled: [{name: A}]}}";
  const auto config =
      Parse("profiles:\n- {schedulerName: a, " + sort +
            ", pluginConfig: [{name: A, args: {x: 1, y: 2}}]}\n- {schedulerName: b, " + sort +
            ", pluginConfig: [{name: A, args: {y: 2, x: 1}}]}\n- {schedulerName: c, " + sort + "}\n");
  EXPECT_TRUE(config) << config.error().message;
}

// Empty fields of a file have defaults, those of flags do not.
TEST(SchedulerConfig, AnElectionNeedsALockWithNamespaceAndName) {
  const auto error = [](bool elects) {
    const auto config = ParseSchedulerConfig(
        kHead,
        ParseOptions{.gates = {}, .codecs = nullptr, .read_file = {}, .adjust_election = [&](auto& election) {
                       election.leader_elect = elects;
                       election.resource_lock.clear();
                       election.resource_namespace.clear();
                       election.resource_name.clear();
                     }});
    return config ? "no error" : config.error().message;
  };
  EXPECT_EQ(error(true),
            "[leaderElection.resourceLock: Required value, leaderElection.resourceNamespace: Required value, "
            "leaderElection.resourceName: Required value, leaderElection.resourceLock: Invalid value: \"\": "
            "resourceLock value must be \"leases\"]");
  EXPECT_EQ(error(false), "no error");
}

// --- scalars ---
TEST(Value, PlainScalarsAreParsedLikeKubernetesYaml) {
  const auto kind = [](const std::string& scalar) {
    return yaml::ParseValue("a: " + scalar).value().Find("a")->kind;
  };
  for (const auto* text : {"yes", "On", "TRUE", "y", "no", "off", "n"})
    EXPECT_EQ(kind(text), Value::Kind::kBool) << text;
  for (const auto* text : {"5", "-1", "+2", "1.5", "1e3", ".5"})
    EXPECT_EQ(kind(text), Value::Kind::kNumber) << text;
  for (const auto* text : {"'5'", "\"yes\"", "100m", "1.2.3", "+", ".", "a", "!!str 5"}) {
    EXPECT_EQ(kind(text), Value::Kind::kString) << text;
  }
  for (const auto* text : {"", "~", "null"}) EXPECT_EQ(kind(text), Value::Kind::kNull) << text;
}

TEST(Value, NumbersAreFormattedAsJson) {
  const auto number = [](const std::string& scalar) {
    const Value root = yaml::ParseValue("a: " + scalar).value();
    return root.Find("a")->kind == Value::Kind::kNumber ? root.Find("a")->text : "text";
  };
  const std::pair<const char*, const char*> rows[] = {{"0x10", "16"},
                                                      {"-0x10", "-16"},
                                                      {"017", "15"},
                                                      {"0o17", "15"},
                                                      {"0b101", "5"},
                                                      {"1_000", "1000"},
                                                      {"+5", "5"},
                                                      {"3.0", "3"},
                                                      {"1e1", "10"},
                                                      {".5", "0.5"},
                                                      {"1e-5", "0.00001"},
                                                      {"1e-7", "1e-7"},
                                                      {"1e21", "1e+21"},
                                                      {"0x0x10", "text"},
                                                      {"0x", "text"},
                                                      {"08", "8"},
                                                      {"1e400", "text"},
                                                      {"_1", "text"},
                                                      {"18446744073709551615", "18446744073709551615"}};
  for (const auto& [scalar, json] : rows) EXPECT_EQ(number(scalar), json) << scalar;
}

TEST(Value, MergedMapsDoNotOverrideExplicitMembers) {
  EXPECT_EQ(yaml::ParseValue("a: &a {x: 1}\nb: {<<: *a, y: 2}")->Find("b")->Find("x")->text, "1");
  EXPECT_THAT(yaml::ParseValue("a: &a {x: 1}\nb: {<<: *a, x: 2}").error().message,
              HasSubstr("key \"x\" already set in map"));
}

TEST(Value, ASmallFileThatExpandsToAHugeTreeIsRejected) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    text += fmt::format("a{}: &a{} [", i, i);
    for (int k = 0; k < 10; ++k) text += fmt::format("*a{},", i - 1);
    text += "]\n";
  }
  EXPECT_EQ(yaml::ParseValue(text).error().message, "yaml: document contains excessive aliasing");
}

TEST(SchedulerConfig, ThePodGroupGateAddsItsPlugin) {
  std::vector<std::string> notes;
  const std::string on[] = {"GenericWorkload=true"};
  const auto gates = FeatureGates::Parse(on, notes);
  ASSERT_TRUE(gates.has_value());
  EXPECT_EQ(DefaultSchedulerConfig(*gates).profiles[0].at(Point::kMultiPoint).enabled.back().name,
            "GangScheduling");
  EXPECT_EQ(DefaultSchedulerConfig().profiles[0].at(Point::kMultiPoint).enabled.back().name,
            "NodeDeclaredFeatures");
}

}  // namespace
}  // namespace berth::config
