#include "tools/migrate/configuration_check.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "scheduler/assembly/in_tree_plugins.hpp"

namespace berth::migrate {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHead =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

CheckedConfiguration Check(std::vector<std::string> args, const std::string& text) {
  return CheckConfiguration({.args = std::move(args),
                             .config = text.empty() ? "" : "scheduler.yaml",
                             .config_text = text.empty() ? std::nullopt : std::optional(kHead + text),
                             .kubeconfig = {}},
                            assembly::InTreePlugins());
}

const Finding* With(const CheckedConfiguration& checked, std::string_view text) {
  const auto found =
      std::ranges::find_if(checked.findings, [&](const Finding& one) { return one.what.contains(text); });
  return found == checked.findings.end() ? nullptr : &*found;
}

TEST(ConfigurationCheck, KnowsTheResourcesThatThePluginsRequest) {
  const auto quotas =
      Check({}, "profiles: [{plugins: {multiPoint: {enabled: [{name: CapacityScheduling}]}}}]\n");
  EXPECT_THAT(quotas.requested_resources, ::testing::ElementsAre("elasticquotas.scheduling.x-k8s.io"));
  EXPECT_THAT(Check({}, "").requested_resources, ::testing::IsEmpty());
}

TEST(ConfigurationCheck, ReportsDifferencesAndErrors) {
  const struct {
    std::vector<std::string> args;
    const char* text;
    Level level;
    const char* what;
    const char* remedy;
  } kCases[] = {
      {{}, "", Level::kOk, "the default configuration loads: profiles default-scheduler", ""},
      {{}, "parallelism: 8\n", Level::kOk, "kubescheduler.config.k8s.io/v1 loads", ""},
      {{},
       "paralelism: 8\n",
       Level::kBlocker,
       "did you mean \"parallelism\"?; in scheduler.yaml",
       "berth config check"},
      {{},
       "profiles: [{plugins: {multiPoint: {enabled: [{name: NetworkOverhead}]}}}]\n",
       Level::kBlocker,
       "Berth has no plugin NetworkOverhead (of kubernetes-sigs/scheduler-plugins)",
       "keep its profile"},
      {{},
       "profiles: [{plugins: {score: {enabled: [{name: NodeResourceFit}]}}}]\n",
       Level::kBlocker,
       "profile default-scheduler: Berth has no plugin NodeResourceFit; did you mean NodeResourcesFit?",
       "docs/guide/plugins.md"},
      {{},
       "profiles: [{plugins: {multiPoint: {enabled: [{name: Peaks}]}}}]\n",
       Level::kBlocker,
       "Peaks",
       "LoadAware"},
      {{},
       "profiles: [{plugins: {multiPoint: {enabled: [{name: TargetLoadPacking}]}}, pluginConfig: [{name: "
       "TargetLoadPacking, args: {watcherAddress: 'http://load-watcher:2020'}}]}]\n",
       Level::kOk,
       "kubescheduler.config.k8s.io/v1 loads",
       ""},
      {{},
       "profiles: [{plugins: {bind: {disabled: [{name: DefaultBinder}]}}}]\n",
       Level::kBlocker,
       "the scheduler would not start",
       ""},
      {{},
       "percentageOfNodesToScore: 0\n",
       Level::kNote,
       "percentageOfNodesToScore",
       "--berth-adaptive-sampling"},
      {{"--kube-api-qps=0"},
       "",
       Level::kNote,
       "chooses randomly between nodes with equal scores",
       "--berth-seed"},
      {{"--feature-gates=OpportunisticBatching=false"}, "", Level::kWarning, "has no effect", ""},
      {{"--feature-gates=NoSuchGate=true"}, "", Level::kBlocker, "unrecognized feature gate: NoSuchGate", ""},
      {{"--http2-max-streams-per-connection=9"}, "", Level::kNote, "HTTP/1.1 is served", ""},
      {{"--bogus"}, "", Level::kBlocker, "its command line: unknown flag: --bogus", ""},
      {{"--secure-port=70000"}, "", Level::kBlocker, "must be between", ""},
  };
  for (const auto& one : kCases) {
    const CheckedConfiguration checked = Check(one.args, one.text);
    const Finding* found = With(checked, one.what);
    ASSERT_NE(found, nullptr) << one.what << "\n" << ToText(checked.findings, "");
    EXPECT_EQ(found->level, one.level) << one.what;
    EXPECT_THAT(found->remedy, HasSubstr(one.remedy));
    EXPECT_EQ(Evaluate(checked.findings).blockers > 0, one.level == Level::kBlocker) << one.what;
  }
}

TEST(ConfigurationCheck, ExplicitValuesAreNotReportedAsDifferences) {
  const CheckedConfiguration checked =
      Check({}, "percentageOfNodesToScore: 50\nclientConnection: {qps: 50, burst: 100}\n");
  EXPECT_EQ(With(checked, "percentageOfNodesToScore"), nullptr);
  EXPECT_EQ(With(checked, "clientConnection"), nullptr);
}

TEST(ConfigurationCheck, AProfileWithItsOwnPercentageSamples) {
  const CheckedConfiguration checked =
      Check({}, "percentageOfNodesToScore: 50\nprofiles: [{percentageOfNodesToScore: 0}]\n");
  EXPECT_NE(With(checked, "percentageOfNodesToScore"), nullptr);
}

TEST(ConfigurationCheck, EachUnknownPluginIsReportedOnce) {
  const CheckedConfiguration checked = Check({}, R"(profiles:
- schedulerName: a
  plugins: {filter: {enabled: [{name: Mine}, {name: Yours}]}, score: {enabled: [{name: Mine}]}}
- schedulerName: b
  plugins: {filter: {enabled: [{name: Mine}]}}
)");
  EXPECT_EQ(Evaluate(checked.findings).blockers, 2U);
  EXPECT_NE(With(checked, "profile a, b: Berth has no plugin Mine"), nullptr) << ToText(checked.findings, "");
}

TEST(ConfigurationCheck, FindsTheConfigurationFileOfACommandLine) {
  EXPECT_EQ(ConfigNamedBy({"-v=2", "--config", "/etc/s.yaml"}), "/etc/s.yaml");
  EXPECT_EQ(ConfigNamedBy({"--leader-elect=true"}), "");
  EXPECT_EQ(ConfigNamedBy({"--no-such-flag"}), "");
}

}  // namespace
}  // namespace berth::migrate
