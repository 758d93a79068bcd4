#include "tools/simulate/run.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "config/scheduler_config.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "tools/simulate/report.hpp"
#include "tools/simulate/workload_file.hpp"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kRunHead = "apiVersion: simulation.berth.dev/v1alpha1\nkind: Workload\n";

Workload Parse(const std::string& text) {
  auto workload = ParseWorkload(std::string(kRunHead) + text, "");
  EXPECT_TRUE(workload) << workload.error().message;
  return workload ? *std::move(workload) : Workload();
}

Result ExecuteWith(const config::SchedulerConfig& config, const Workload& workload, std::uint64_t seed = 1) {
  const std::atomic<bool> stop{false};
  auto result = RunWorkload(workload, config, assembly::InTreePlugins(),
                            {.configuration = "default", .seed = seed, .samples = 20}, stop, {});
  EXPECT_TRUE(result) << result.error().message;
  return result ? *std::move(result) : Result();
}

Result Execute(const Workload& workload, std::uint64_t seed = 1, const config::FeatureGates& gates = {}) {
  return ExecuteWith(config::DefaultSchedulerConfig(gates, &assembly::InTreePlugins().codecs()), workload,
                     seed);
}

// The default profile with another plugin.
config::SchedulerConfig ConfigWith(const std::string& plugin, const std::string& args) {
  const auto plugins = assembly::InTreePlugins();
  config::ParseOptions options;
  options.codecs = &plugins.codecs();
  auto config = config::ParseSchedulerConfig(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
      "- plugins: {multiPoint: {enabled: [{name: " +
          plugin + "}]}}\n  pluginConfig: [{name: " + plugin + ", args: " + args + "}]\n",
      options);
  EXPECT_TRUE(config) << config.error().message;
  return *std::move(config);
}

config::SchedulerConfig ExampleConfig(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(BERTH_EXAMPLES "/simulate/" + file).rdbuf();
  const auto plugins = assembly::InTreePlugins();
  config::ParseOptions options;
  options.codecs = &plugins.codecs();
  auto parsed = config::ParseSchedulerConfig(text.str(), options);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *std::move(parsed);
}

// Two tenants of a full cluster for the first hours, with a configuration of the examples; the default one if
// `config` is empty. The kinds are "training" of the one and "serving" of the other.
Result ExecuteTenants(const std::string& config, Duration duration) {
  const std::string folder = BERTH_EXAMPLES "/simulate/";
  auto workload = LoadWorkload(folder + "tenants.yaml");
  EXPECT_TRUE(workload) << workload.error().message;
  workload->duration = duration;
  return config.empty() ? Execute(*workload) : ExecuteWith(ExampleConfig(config), *workload);
}

std::string Json(const Workload& workload, std::uint64_t seed) {
  const Result results[] = {Execute(workload, seed)};
  return ReportJson({.workload = "w", .seed = seed, .duration = workload.duration}, results);
}

std::string Pods(const std::string& name, const std::string& arrivals, const std::string& cpu,
                 const std::string& more = "", const std::string& spec = "") {
  return "- name: " + name + "\n  arrivals: [" + arrivals + "]\n" + more +
         "  template:\n    spec:\n      containers: [{name: c, resources: {requests: {cpu: \"" + cpu +
         "\", memory: 1Gi}}}]\n" + spec;
}

std::string Nodes(int count, const std::string& more = "") {
  return "nodes:\n- name: pool\n  count: " + std::to_string(count) +
         "\n  zones: [a, b]\n  capacity: {cpu: \"4\", memory: 16Gi}\n" + more + "pods:\n";
}

// Everything at once: failures, preemption, autoscaling, random arrivals.
Workload Eventful() {
  return Parse("duration: 1h\noutages:\n- {group: pool, count: 2, at: 20m, lasts: 10m}\n" +
               Nodes(6,
                     "  failures: {meanTimeBetween: 2h, repair: 7m}\n- name: spare\n  count: 0\n"
                     "  capacity: {cpu: \"8\", memory: 32Gi}\n  autoscaling: {max: 3, idle: 1m}\n") +
               Pods("batch", "{rate: 6/m}", "1", "  lifetime: {mean: 5m}\n") +
               Pods("urgent", "{every: 10m, count: 8}", "2", "  lifetime: 3m\n", "      priority: 100\n"));
}

// Two GPUs of which each pod takes 60 %: two pods run at a time. A pod that has ended makes room for the
// next.
TEST(RunWorkload, PodsShareDevicesByClaims) {
  const Workload workload = Parse(
      "duration: 1h\nnodes:\n- name: pool\n  count: 1\n  capacity: {cpu: \"16\", memory: 64Gi}\n"
      "  devices:\n    driver: d\n    list:\n    - {name: gpu, count: 2, allowMultipleAllocations: true, "
      "capacity: {milli: {value: \"1000\"}}}\n"
      "objects:\n- {kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: "
      "\"device.driver == 'd'\"}}]}}\n"
      "- {kind: ResourceClaimTemplate, metadata: {name: share}, spec: {spec: {devices: {requests: [{name: r, "
      "exactly: {deviceClassName: gpu, capacity: {requests: {milli: \"600\"}}}}]}}}}\npods:\n" +
      Pods("half", "{at: [1s, 2s, 3s]}", "1", "  lifetime: 10m\n",
           "      resourceClaims: [{name: gpu, resourceClaimTemplateName: share}]\n"));
  const Result result = Execute(workload);
  EXPECT_EQ(result.Sum(&KindResult::bound), 3u);
  EXPECT_EQ(result.Sum(&KindResult::completed), 3u);
  EXPECT_GE(result.time_to_bind.max(), 9min) << "the third pod waits for the first";
  ASSERT_EQ(result.resources, (std::vector<std::string>{"cpu", "memory", "d"}));
  // After three minutes two pods run, each with 60 % of a GPU.
  EXPECT_DOUBLE_EQ(result.samples.front().used[2], 0.6);
  EXPECT_EQ(result.samples.back().used[2], 0);
}

// Two GPUs; parts of 47 %, 81 %, 16 % and 48 % arrive. kube-scheduler gives the third pod a part of the first
// GPU, on which it fits first; with the least waste it gets the rest of the second one, and the fourth fits.
TEST(RunWorkload, TheChoiceOfTheDeviceDecidesWhetherAPodFits) {
  std::string text =
      "duration: 10m\nnodes:\n- name: pool\n  count: 1\n  capacity: {cpu: \"16\", memory: 64Gi}\n"
      "  devices:\n    driver: d\n    list:\n    - {name: gpu, count: 2, allowMultipleAllocations: true, "
      "capacity: {milli: {value: \"1000\"}}}\n"
      "objects:\n- {kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: "
      "\"device.driver == 'd'\"}}]}}\n";
  std::string pods = "pods:\n";
  int second = 0;
  for (const char* part : {"470", "810", "160", "480"}) {
    const std::string name = std::string("part-") + part;
    text += "- {kind: ResourceClaimTemplate, metadata: {name: " + name +
            "}, spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, capacity: "
            "{requests: {milli: \"" +
            part + "\"}}}}]}}}}\n";
    pods += Pods(name, "{at: [" + std::to_string(++second) + "s]}", "1", "",
                 "      resourceClaims: [{name: gpu, resourceClaimTemplateName: " + name + "}]\n");
  }
  const Workload workload = Parse(text + pods);
  EXPECT_EQ(Execute(workload).Sum(&KindResult::bound), 3u);
  const auto listed = ConfigWith("GpuFragmentation", "{deviceClasses: [gpu], capacity: milli}");
  EXPECT_EQ(ExecuteWith(listed, workload).Sum(&KindResult::bound), 3u);
  const auto least_waste =
      ConfigWith("GpuFragmentation", "{deviceClasses: [gpu], capacity: milli, deviceChoice: LeastWaste}");
  EXPECT_EQ(ExecuteWith(least_waste, workload).Sum(&KindResult::bound), 4u);
}

TEST(RunWorkload, TheSameSeedGivesTheSameBytesAndAnotherSeedOthers) {
  const Workload workload = Eventful();
  const std::string first = Json(workload, 7);
  EXPECT_EQ(first, Json(workload, 7));
  EXPECT_NE(first, Json(workload, 8));
}

TEST(RunWorkload, EveryPodIsBoundOrWaitsOrHasEnded) {
  const Result result = Execute(Eventful());
  EXPECT_GT(result.Sum(&KindResult::completed), 100u);
  EXPECT_GT(result.Sum(&KindResult::preempted), 0u);
  EXPECT_GT(result.Sum(&KindResult::lost), 0u);
  EXPECT_GT(result.nodes_added, 0u);
  for (const KindResult& kind : result.kinds) {
    // All that were bound run, or ended afterwards; preempted and lost pods may have ended before.
    EXPECT_GE(kind.bound, kind.completed) << kind.name;
    EXPECT_EQ(kind.time_to_bind.count(), kind.bound) << kind.name;
  }
  const std::uint64_t ended =
      result.Sum(&KindResult::completed) + result.Sum(&KindResult::preempted) + result.Sum(&KindResult::lost);
  EXPECT_EQ(result.Sum(&KindResult::created),
            ended + result.samples.back().running + result.Sum(&KindResult::pending));
}

TEST(RunWorkload, ListedTimesBurstsAndLifetimesAreExact) {
  const Result result = Execute(Parse("duration: 10m\n" + Nodes(4) +
                                      Pods("listed", "{at: [10s, 5m], count: 2}", "1", "  lifetime: 1m\n") +
                                      Pods("bursts", "{every: 3m, count: 3, from: 1m}", "1")));
  EXPECT_EQ(result.kinds[0].created, 4u);
  EXPECT_EQ(result.kinds[0].completed, 4u);
  EXPECT_EQ(result.kinds[1].created, 9u);  // at 1, 4 and 7 minutes
  EXPECT_EQ(result.kinds[1].completed, 0u);
  // 4 pods for a minute each, and 3 pods each for 9, 6 and 3 minutes, on 16 CPUs for 10 minutes.
  EXPECT_NEAR(result.mean_used[0], (4 * 1 + 3 * (9 + 6 + 3)) / 160.0, 1e-3);
}

TEST(RunWorkload, PoissonArrivalsHaveTheirRate) {
  const Result result =
      Execute(Parse("duration: 1h\n" + Nodes(20) + Pods("p", "{rate: 1/s}", "1", "  lifetime: 10s\n")));
  EXPECT_NEAR(static_cast<double>(result.kinds[0].created), 3600, 5 * 60);  // five standard deviations
}

TEST(RunWorkload, PodsThatDoNotFitWaitWithTheirReason) {
  const Result result = Execute(
      Parse("duration: 1m\n" + Nodes(2) + Pods("big", "{at: [0s]}", "5") + Pods("small", "{at: [0s]}", "1")));
  EXPECT_EQ(result.kinds[0].pending, 1u);
  EXPECT_NE(result.kinds[0].reason.find("0/2 nodes are available: 2 Insufficient cpu."), std::string::npos)
      << result.kinds[0].reason;
  EXPECT_EQ(result.kinds[1].pending, 0u);
}

TEST(RunWorkload, LostPodsAreReplacedUnlessTheyHaveNoController) {
  const std::string outage =
      "duration: 30m\nevictionAfter: 2m\noutages:\n- {group: pool, count: 4, at: 10m, lasts: 10m}\n";
  const Result replaced = Execute(Parse(outage + Nodes(4) + Pods("p", "{at: [0s], count: 8}", "1")));
  EXPECT_EQ(replaced.nodes_failed, 4u);
  EXPECT_EQ(replaced.kinds[0].lost, 8u);
  EXPECT_EQ(replaced.kinds[0].created, 16u);
  EXPECT_EQ(replaced.samples.back().running, 8u);
  // Replacements arrive 12 minutes after the start and wait for the repair at 20 minutes.
  EXPECT_GT(replaced.kinds[0].time_to_bind.max(), 8min);
  const Result gone =
      Execute(Parse(outage + Nodes(4) + Pods("p", "{at: [0s], count: 8}", "1", "  recreate: false\n")));
  EXPECT_EQ(gone.kinds[0].created, 8u);
  EXPECT_EQ(gone.samples.back().running, 0u);
}

TEST(RunWorkload, ANodeThatIsRepairedInTimeKeepsItsPods) {
  const Result result = Execute(
      Parse("duration: 30m\nevictionAfter: 5m\noutages:\n- {group: pool, count: 4, at: 10m, lasts: 4m}\n" +
            Nodes(4) + Pods("p", "{at: [0s], count: 8}", "1")));
  EXPECT_EQ(result.kinds[0].lost, 0u);
  EXPECT_EQ(result.samples.back().running, 8u);
}

// Configurations that add nodes at different times have the same failures otherwise.
TEST(RunWorkload, TheFailuresOfANodeDoNotDependOnOtherNodes) {
  const std::string fails = "  failures: {meanTimeBetween: 10m, repair: 1m}\n";
  const auto failures = [&](const std::string& others) {
    return Execute(Parse("duration: 10h\n" + Nodes(5, fails + others) + Pods("p", "{at: [0s]}", "1")))
        .nodes_failed;
  };
  const std::size_t alone = failures("");
  EXPECT_GT(alone, 100u);
  EXPECT_EQ(failures("- name: solid\n  count: 3\n  capacity: {cpu: \"4\", memory: 16Gi}\n"
                     "  failures: {meanTimeBetween: 90000h, repair: 1m}\n"),
            alone);
}

TEST(RunWorkload, AutoscalingAddsWhatWaitingPodsNeedAndRemovesIdleNodes) {
  const Result result = Execute(Parse(
      "duration: 1h\n" + Nodes(0, "  autoscaling: {min: 1, max: 10, provision: 1m, idle: 5m}\n") +
      Pods("p", "{at: [1m], count: 12}", "1", "  lifetime: 10m\n") + Pods("never", "{at: [0s]}", "64")));
  EXPECT_EQ(result.nodes_added, 3u);    // four pods fit on a node
  EXPECT_EQ(result.nodes_removed, 2u);  // down to the minimum
  EXPECT_EQ(result.kinds[0].completed, 12u);
  EXPECT_GT(result.kinds[0].time_to_bind.max(), 1min);
  EXPECT_LT(result.kinds[0].time_to_bind.max(), 90s);
}

TEST(RunWorkload, FragmentationIsTheFreeAmountThatNoPodCanUse) {
  // Two of four nodes have three of four CPUs in use; pods request three.
  const Result result = Execute(Parse("duration: 1m\n" + Nodes(4) + Pods("p", "{at: [0s], count: 2}", "3")));
  EXPECT_NEAR(result.samples.back().fragmented[0], 2.0 / (2 + 8), 1e-9);
  EXPECT_NEAR(result.samples.back().used[0], 6.0 / 16, 1e-9);
}

TEST(RunWorkload, SkewCountsPodsByZone) {
  const Result result = Execute(Parse(
      "duration: 1m\n" + Nodes(2) +
      Pods("p", "{at: [0s], count: 3}", "1", "", "      nodeSelector: {topology.kubernetes.io/zone: a}\n")));
  EXPECT_EQ(result.kinds[0].zone_skew.most, 3);
  EXPECT_EQ(result.kinds[0].most_on_node.most, 3);
}

config::FeatureGates WithGroups() {
  std::vector<std::string> notes;
  const std::vector<std::string> values{"GenericWorkload=true"};
  const auto gates = config::FeatureGates::Parse(values, notes);
  EXPECT_TRUE(gates);
  return *gates;
}

// Two groups of six pods, which need all of the six places.
Workload TwoGroups(const std::string& more) {
  return Parse("duration: 1h\n" + Nodes(3) +
               Pods("job", "{at: [1m, 1m]}", "2", "  group: {sizes: [{members: 6}]}\n" + more));
}

TEST(RunWorkload, AGroupStartsWithItsLastMemberAndEndsAsAWhole) {
  const Result result = Execute(TwoGroups("  lifetime: 10m\n"), 1, WithGroups());
  EXPECT_EQ(result.groups.created, 2u);
  EXPECT_EQ(result.groups.completed, 2u);
  EXPECT_EQ(result.kinds[0].completed, 12u);
  EXPECT_GE(result.groups.last_completed, 21min);
  EXPECT_LT(result.groups.last_completed, 22min);
  // The second one waits for the end of the first one.
  EXPECT_GE(result.groups.time_to_start.max(), 10min);
  EXPECT_LT(result.groups.time_to_start.max(), 11min);
  EXPECT_NEAR(result.mean_used[0], 2 * 10 / 60.0, 1e-3);
  EXPECT_LT(result.groups.mean_held[0], 1e-3);
}

TEST(RunWorkload, PodByPodAGroupThatDoesNotFitHoldsWhatItGot) {
  const Workload workload = Parse("duration: 1h\n" + Nodes(3) +
                                  Pods("job", "{at: [1m]}", "2", "  group: {sizes: [{members: 7}]}\n"));
  EXPECT_EQ(Execute(workload, 1, WithGroups()).groups.mean_held[0], 0);
  const Result result = Execute(workload);
  EXPECT_EQ(result.groups.started, 0u);
  EXPECT_EQ(result.groups.waiting, 1u);
  EXPECT_NEAR(std::chrono::duration<double>(result.groups.longest_wait).count(), 59 * 60, 1);
  EXPECT_NEAR(result.groups.mean_held[0], 59 / 60.0, 1e-2);
  EXPECT_EQ(result.kinds[0].pending, 1u);
}

TEST(RunWorkload, MembersHaveLabelsWithTheNameAndTheSizeOfTheirGroup) {
  // Each node takes one pod with the label: of three members on two nodes, two are bound.
  struct Case {
    const char* sentence;
    const char* selector;
    std::size_t started;
  };
  const Case cases[] = {
      {"by the name", "{key: gang, operator: In, values: [job-group-0]}", 0},
      {"by the name of another group", "{key: gang, operator: In, values: [job-group-1]}", 1},
      {"by the size", "{key: gang-size, operator: In, values: ['3']}", 0},
      {"by another size", "{key: gang-size, operator: In, values: ['2']}", 1},
  };
  for (const Case& c : cases) {
    const Result result = Execute(
        Parse("duration: 1h\n" + Nodes(2) +
              Pods("job", "{at: [1m]}", "1",
                   "  group: {sizes: [{members: 3}], labels: {name: gang, size: gang-size}}\n",
                   "      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                   "[{topologyKey: kubernetes.io/hostname, labelSelector: {matchExpressions: [" +
                       std::string(c.selector) + "]}}]}}\n")));
    EXPECT_EQ(result.groups.started, c.started) << c.sentence;
  }
}

TEST(RunWorkload, FreeAmountsCountAsIdleWhileAGroupWaits) {
  // Six of twelve CPUs are in use for the last 30 minutes, while a group waits that needs all.
  const Result result = Execute(Parse("duration: 1h\n" + Nodes(3) +
                                      Pods("one", "{at: [30m]}", "3", "  group: {sizes: [{members: 2}]}\n") +
                                      Pods("all", "{at: [30m]}", "4", "  group: {sizes: [{members: 3}]}\n")),
                                1, WithGroups());
  EXPECT_EQ(result.groups.waiting, 1u);
  EXPECT_NEAR(result.groups.mean_idle[0], 6.0 / 12 / 2, 1e-3);
}

TEST(RunWorkload, AGroupThatLosesAMemberIsReplacedAsAWhole) {
  const std::string outage =
      "duration: 1h\nevictionAfter: 2m\noutages:\n- {group: pool, count: 1, at: 10m, lasts: 10m}\n";
  const auto workload = [&](const std::string& more) {
    return Parse(
        outage + Nodes(3) +
        Pods("job", "{at: [0s]}", "2", "  group: {sizes: [{members: 6}]}\n  lifetime: 15m\n" + more));
  };
  const Result replaced = Execute(workload(""), 1, WithGroups());
  EXPECT_EQ(replaced.groups.created, 2u);
  EXPECT_EQ(replaced.groups.stopped, 1u);
  EXPECT_EQ(replaced.groups.completed, 1u);
  EXPECT_EQ(replaced.kinds[0].lost, 2u);
  EXPECT_EQ(replaced.kinds[0].stopped, 4u);
  EXPECT_EQ(replaced.kinds[0].completed, 6u);
  // Created 12 minutes after the start; the node returns after 20.
  EXPECT_GE(replaced.groups.time_to_start.max(), 8min);
  const Result gone = Execute(workload("  recreate: false\n"), 1, WithGroups());
  EXPECT_EQ(gone.groups.created, 1u);
  EXPECT_EQ(gone.samples.back().running, 0u);
}

TEST(RunWorkload, TheSizesOfGroupsFollowTheirWeights) {
  const Result result =
      Execute(Parse("duration: 20m\n" + Nodes(20) +
                    Pods("job", "{rate: 1/s}", "0.1",
                         "  group: {sizes: [{members: 1, weight: 3}, {members: 5}]}\n  lifetime: 10s\n")));
  EXPECT_NEAR(static_cast<double>(result.kinds[0].created) / static_cast<double>(result.groups.created), 2,
              0.2);
}

TEST(RunWorkload, WithQuotasATenantReclaimsItsMinimumFromABorrower) {
  const Result plain = ExecuteTenants("", 5h);
  const Result quotas = ExecuteTenants("quotas.yaml", 5h);
  EXPECT_EQ(plain.kinds[1].created, 40u);
  EXPECT_LT(plain.kinds[1].bound, 20u) << "behind the pods of the other tenant";
  EXPECT_EQ(plain.kinds[0].preempted, 0u);
  EXPECT_EQ(quotas.kinds[1].bound, 40u);
  EXPECT_LT(quotas.kinds[1].time_to_bind.max(), 5s) << "the victims' termination";
  // Of the 80 GPUs the borrower keeps its minimum of 40; some pods end by themselves.
  EXPECT_GT(quotas.kinds[0].preempted, 20u);
  EXPECT_LE(quotas.kinds[0].preempted, 60u);
}

TEST(RunWorkload, WithFairOrderATenantDoesNotWaitForTheBacklogOfAnother) {
  const Result fair = ExecuteTenants("fair-order.yaml", 5h);
  EXPECT_EQ(fair.kinds[0].preempted, 0u);
  // As many as pods of the other tenant ended within an hour; the default order binds less than half of them.
  EXPECT_EQ(fair.kinds[1].created, 40u);
  EXPECT_GE(fair.kinds[1].bound, 30u);
}

TEST(RunWorkload, AControllerReplacesAPodAfterATime) {
  const std::string workload =
      "duration: 1h\noutages:\n- {group: pool, at: 20m, lasts: 30m}\n"
      "evictionAfter: 1m\n" +
      Nodes(1) + Pods("p", "{at: [0s]}", "1", "@");
  const auto created = [&](const std::string& after) {
    std::string text = workload;
    text.replace(text.find('@'), 1, after);
    return Execute(Parse(text)).kinds[0].created;
  };
  EXPECT_EQ(created("  recreateAfter: 38m\n"), 2u);
  EXPECT_EQ(created("  recreateAfter: 40m\n"), 1u);
}

TEST(RunWorkload, TwoWorkloadsThatEvictEachOtherCompleteOnlyWithPauses) {
  const auto workload = LoadWorkload(BERTH_EXAMPLES "/simulate/build-loop.yaml");
  ASSERT_TRUE(workload) << workload.error().message;
  const Result endless = ExecuteWith(ExampleConfig("build-loop-off.yaml"), *workload);
  for (const KindResult& kind : endless.kinds) {
    EXPECT_GT(kind.preempted, 100u) << kind.name;
    EXPECT_EQ(kind.completed, 0u) << kind.name;
  }
  const Result paused = ExecuteWith(ExampleConfig("build-loop-paused.yaml"), *workload);
  for (const KindResult& kind : paused.kinds) {
    EXPECT_LE(kind.preempted, 4u) << kind.name;
    EXPECT_EQ(kind.completed, 1u) << kind.name;
  }
}

TEST(RunWorkload, AnInterruptedRunReportsTheTimeUntilThen) {
  const Workload workload =
      Parse("duration: 1h\n" + Nodes(4) + Pods("p", "{rate: 1/s}", "1", "  lifetime: 5s\n"));
  const auto plugins = assembly::InTreePlugins();
  std::atomic<bool> stop{false};
  const auto result = RunWorkload(workload, config::DefaultSchedulerConfig({}, &plugins.codecs()), plugins,
                                  {.configuration = "default", .seed = 1, .samples = 60}, stop,
                                  [&](Duration simulated, std::uint64_t) { stop = simulated >= 10min; });
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->complete);
  EXPECT_EQ(result->simulated, 10min);
  EXPECT_GT(result->kinds[0].completed, 500u);
}

}  // namespace
}  // namespace berth::simulate
