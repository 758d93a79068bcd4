#include "tools/rebalance/planner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kubernetes/api/owners.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/cluster/row_log.hpp"
#include "scheduler/plugins/load_aware/load_signal.hpp"
#include "testing/builders.hpp"
#include "tools/rebalance/cluster_copy.hpp"
#include "tools/rebalance/protection.hpp"

namespace berth::rebalance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Duration kOld = std::chrono::hours(2);
constexpr double kMegabyte = 1e6;

// Nodes of ten cores, on which a pod that uses a core adds ten percent; measured load is set by the test.
class Planning : public ::testing::Test {
 protected:
  explicit Planning(std::string args = "{}") : args_(std::move(args)) {}
  void SetUp() override {
    const config::ParseOptions options{.gates = {}, .codecs = &plugins_.codecs(), .read_file = {}};
    config_ = config::ParseSchedulerConfig(
                  "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
                  "- schedulerName: default-scheduler\n"
                  "  plugins: {multiPoint: {enabled: [{name: LoadAware, weight: 20}, {name: Gangs}]}}\n"
                  "  pluginConfig: [{name: Gangs, args: {sources: [Coscheduling, Spark, Annotation]}}, "
                  "{name: LoadAware, args: " +
                      args_ + "}]\n",
                  options)
                  .value();
    std::vector<std::string> notes;
    engine_ = assembly::Engine::Build(config_, plugins_, ports_.ports(), notes).value();
    engine_->handle().signals.SetClock(clock_);
    reader_ = LoadReader::Create(config_, engine_->handle(), {.window = settings_.window, .thresholds = {}})
                  .value();
  }

  void Node(const std::string& name, double cpu, double memory = 20) {
    engine_->cache().AddNode(testing::MakeNode(name).Cpu("10").Memory("100Gi").Pods("110").Share());
    cpu_[name] = lowest_[name] = cpu;
    memory_[name] = memory;
  }
  // A pod of a workload of its own with two pods; it requests half a core and a gibibyte.
  testing::PodBuilder Pod(const std::string& name, const std::string& node, Duration age = kOld) {
    testing::PodBuilder builder = testing::MakePod(name);
    builder.Uid("uid-" + name).Cpu("500m").Memory("1Gi").OnNode(node).Phase("Running").Label("app", name);
    builder.raw().metadata.controller = api::OwnerReference{
        .api_version = "apps/v1", .kind = "ReplicaSet", .name = name + "-set", .uid = "u"};
    builder.raw().status.start_time = StartOf(age);
    return builder;
  }
  std::int64_t StartOf(Duration age) const {
    return std::chrono::duration_cast<std::chrono::seconds>((clock_.WallNow() - age).time_since_epoch())
        .count();
  }
  void Add(const testing::PodBuilder& pod, double cores) {
    const api::PodPtr shared = pod.Share();
    engine_->cache().AddPod(shared);
    usage_[shared->metadata.Key()] = cores;
  }
  void Budget(const std::string& app, std::int32_t allowed, const std::string& name = "budget") {
    api::PodDisruptionBudget budget;
    budget.metadata.name = name;
    budget.metadata.ns = "default";
    budget.selector = api::LabelSelector{.match_labels = {{"app", app}}, .match_expressions = {}};
    budget.disruptions_allowed = allowed;
    engine_->cache().objects().Apply(ports::Change<api::PodDisruptionBudget>{
        nullptr, std::make_shared<const api::PodDisruptionBudget>(budget)});
  }

  void Poll() {
    auto& signals = engine_->handle().signals;
    for (std::size_t i = 0; i < signals.size(); ++i) {
      const auto id = static_cast<load_metrics::SignalId>(i);
      const std::string& name = signals.signal(id).spec.name;
      if (name == failing_) {
        signals.Failed(id, clock_.Now(), "connection refused");
      } else if (name == "cpu") {
        Deliver(id, cpu_, 0.01);
      } else if (name == "cpu: lowest") {
        Deliver(id, lowest_, 0.01);
      } else if (name == "memory" || name == "memory: lowest") {
        Deliver(id, memory_, 0.01);
      } else if (name == "use of workloads: cpu") {
        DeliverUsage(id, usage_, 1);
      } else if (name == "use of workloads: memory") {
        DeliverUsage(id, usage_, 1 << 30);
      } else if (name == "network-receive" || name == "network-receive: lowest") {
        Deliver(id, receive_, 0.01);
      } else if (name == "traffic of pods: network-receive" && !traffic_.empty()) {
        DeliverUsage(id, traffic_, kMegabyte);
      } else if (name == "network-receive: slowest link") {
        Deliver(id, slowest_, kMegabyte);
      } else if (name == "network-receive: fastest link") {
        Deliver(id, fastest_, kMegabyte);
      } else {  // a guard; without values it is not applied
        signals.Failed(id, clock_.Now(), "no values");
      }
    }
  }
  void Deliver(load_metrics::SignalId id, const std::map<std::string, double>& values, double factor) {
    std::vector<load_metrics::SeriesName> names;
    load_metrics::SignalAnswer answer{
        .signal = id, .polled_at = clock_.Now(), .renumbered = true, .fresh = nullptr, .samples = {}};
    for (const auto& [node, value] : values) {
      answer.samples.emplace_back(names.size(), value * factor);
      names.push_back({{"node", node}});
    }
    answer.fresh = std::make_shared<const std::vector<load_metrics::SeriesName>>(std::move(names));
    engine_->handle().signals.Take(answer);
  }
  void DeliverUsage(load_metrics::SignalId id, const std::map<std::string, double>& usage, double factor) {
    std::vector<load_metrics::SeriesName> names;
    load_metrics::SignalAnswer answer{
        .signal = id, .polled_at = clock_.Now(), .renumbered = true, .fresh = nullptr, .samples = {}};
    for (const auto& [pod, value] : usage) {
      answer.samples.emplace_back(names.size(), value * factor);
      names.push_back({{"namespace", "default"}, {"pod", pod.substr(pod.find('/') + 1)}});
    }
    answer.fresh = std::make_shared<const std::vector<load_metrics::SeriesName>>(std::move(names));
    engine_->handle().signals.Take(answer);
  }

  Plan Make() {
    Poll();
    const MeasuredLoad load = reader_->Read();
    return MakePlan({config_, plugins_, *engine_, pending_, load, history_, settings_, clock_}).value();
  }
  // "pod: why: reason" of the only rejected pod.
  static std::string OnlyRejected(const Plan& plan) {
    if (plan.rejected.size() != 1) return std::to_string(plan.rejected.size()) + " rejected pods";
    const RejectedPod& pod = plan.rejected.front();
    return pod.pod + ": " + std::string(NameOf(pod.why)) + ": " + pod.reason;
  }

  const std::string args_;
  ManualClock clock_;
  const runtime::Registry plugins_ = assembly::InTreePlugins();
  config::SchedulerConfig config_;
  assembly::DryRunPorts ports_;
  std::unique_ptr<assembly::Engine> engine_;
  std::unique_ptr<LoadReader> reader_;
  PlanSettings settings_;
  MoveHistory history_;
  std::vector<api::PodPtr> pending_;
  std::map<std::string, double> cpu_, lowest_, memory_, usage_;
  // Percent; megabytes per second: of pods, and of links.
  std::map<std::string, double> receive_, traffic_, slowest_, fastest_;
  std::string failing_;
};

TEST_F(Planning, APodOfAnOverloadedNodeMovesToTheNodeThatTheSchedulerChooses) {
  Node("cool", 20);
  Node("hot", 95);
  Node("warm", 60);
  Add(Pod("web", "hot"), 2);
  const Plan plan = Make();
  EXPECT_EQ(plan.stopped, "");
  ASSERT_THAT(plan.moves, SizeIs(1));
  const Move& move = plan.moves[0];
  EXPECT_EQ(move.pod->metadata.name, "web");
  EXPECT_EQ(move.from, "hot");
  EXPECT_EQ(move.to, "cool");
  EXPECT_EQ(move.signal, "cpu");
  EXPECT_NEAR(move.pod_load, 20, 1e-6);
  EXPECT_NEAR(move.from_before, 95, 1e-6);
  EXPECT_NEAR(move.from_after, 75, 1e-6);
  EXPECT_NEAR(move.to_before, 20, 1e-6);
  EXPECT_NEAR(move.to_after, 40, 1e-6);
  EXPECT_NEAR(move.benefit, 20, 1e-6);
  EXPECT_THAT(move.reason, HasSubstr("would not choose hot again"));
}

TEST_F(Planning, TheLiveClusterIsUnchanged) {
  Node("cool", 20);
  Node("hot", 95);
  Add(Pod("web", "hot"), 2);
  const std::uint64_t before = engine_->cache().nodes().pod_changes().count();
  ASSERT_THAT(Make().moves, SizeIs(1));
  EXPECT_EQ(engine_->cache().nodes().pod_changes().count(), before);
  EXPECT_EQ(reader_->Read().signals.at(0).nodes.at("hot").now, 95);
}

TEST_F(Planning, ANodeThatWasBelowItsThresholdDuringTheWindowIsNotOverloaded) {
  Node("cool", 20);
  Node("hot", 95);
  lowest_["hot"] = 89;
  Add(Pod("web", "hot"), 2);
  const Plan plan = Make();
  EXPECT_THAT(plan.overloaded, IsEmpty());
  EXPECT_THAT(plan.moves, IsEmpty());
}

TEST_F(Planning, NothingMovesWithoutCurrentSignals) {
  Node("cool", 20);
  Node("hot", 95);
  Add(Pod("web", "hot"), 2);
  for (const std::string signal : {"cpu", "cpu: lowest", "memory", "use of workloads: cpu"}) {
    failing_ = "";
    Poll();
    failing_ = signal;  // the values of the first poll are still valid for other purposes
    const Plan plan = Make();
    EXPECT_THAT(plan.stopped, HasSubstr("connection refused")) << signal;
    EXPECT_THAT(plan.moves, IsEmpty()) << signal;
  }
}

TEST_F(Planning, NothingMovesWithValuesForAMinorityOfNodes) {
  Node("cool", 20);
  Node("hot", 95);
  Node("warm", 50);
  cpu_.erase("cool");
  cpu_.erase("warm");
  Add(Pod("web", "hot"), 2);
  EXPECT_EQ(Make().stopped, "the signal cpu has values for only 1 of 3 nodes");
}

TEST_F(Planning, APodStaysIfTheOnlyOtherNodeWouldComeNearItsThreshold) {
  Node("hot", 95);
  Node("warm", 61);
  Add(Pod("web", "hot"), 2);
  const Plan plan = Make();
  EXPECT_THAT(plan.moves, IsEmpty());
  EXPECT_EQ(OnlyRejected(plan),
            "default/web: destination: the scheduler would place it on warm: with cpu at 81.0%, above 80.0%");
}

TEST_F(Planning, APodStaysIfTheSchedulerWouldChooseItsOldNodeAfterTheMove) {
  settings_.margin = 0;
  Node("hot", 95);
  Node("warm", 40);
  Add(Pod("web", "hot"), 4.5);  // hot would be at 50, warm at 85
  const Plan plan = Make();
  EXPECT_THAT(plan.moves, IsEmpty());
  EXPECT_EQ(OnlyRejected(plan),
            "default/web: would-return: after a move to warm, the scheduler may choose hot again");
}

TEST_F(Planning, APodStaysIfNoOtherNodeFits) {
  Node("hot", 95);
  Node("cool", 20);
  testing::PodBuilder pod = Pod("web", "hot");
  pod.Selecting("disk", "fast");
  Add(pod, 2);
  const Plan plan = Make();
  EXPECT_THAT(plan.moves, IsEmpty());
  EXPECT_THAT(OnlyRejected(plan), HasSubstr("default/web: no-node: the scheduler finds no node: 0/2 nodes"));
}

TEST_F(Planning, TheLoadOfNewPodsCountsBeforeItIsMeasured) {
  Node("hot", 95);
  Node("warm", 50);
  Add(Pod("web", "hot"), 2);
  Add(Pod("new", "warm", std::chrono::seconds(20)), 1.5);
  EXPECT_EQ(OnlyRejected(Make()),
            "default/web: destination: the scheduler would place it on warm: with cpu at 85.0%, above 80.0%");
}

TEST_F(Planning, APodWithoutMeasuredUsageStays) {
  Node("hot", 95);
  Node("cool", 20);
  Add(Pod("web", "hot"), 2);
  Add(Pod("measured", "cool"), 1);
  usage_.erase("default/web");
  EXPECT_EQ(OnlyRejected(Make()), "default/web: not-measured: its cpu usage is not measured");
}

struct ProtectedPod {
  std::string what;
  std::function<void(api::Pod&)> change;
  std::string why;
};

TEST_F(Planning, ProtectedPodsStay) {
  const auto annotate = [](std::string_view key, std::string value) {
    return [key, value](api::Pod& pod) { pod.metadata.annotations = api::Labels{{std::string(key), value}}; };
  };
  const auto kind = [](std::string kind) {
    return [kind](api::Pod& pod) {
      api::OwnerReference owner = *pod.metadata.controller;
      owner.kind = kind;
      pod.metadata.controller = owner;
    };
  };
  const std::vector<ProtectedPod> pods{
      {"a mirror pod", annotate(api::kMirrorAnnotation, "x"), "static pod"},
      {"a pod of a node", kind("Node"), "static pod"},
      {"a pod of a DaemonSet", kind("DaemonSet"), "DaemonSet"},
      {"a pod without a controller", [](api::Pod& pod) { pod.metadata.controller.reset(); }, "no controller"},
      {"a pod with local storage", [](api::Pod& pod) { pod.spec.local_storage = true; }, "local storage"},
      {"a critical pod", [](api::Pod& pod) { pod.spec.priority = 2'000'001'000; }, "critical"},
      {"a pod above the limit of priorities", [](api::Pod& pod) { pod.spec.priority = 1'000'000'001; },
       "priority"},
      {"Berth's annotation", annotate(kEvict, "false"), std::string(kEvict)},
      {"the autoscaler's annotation", annotate(kSafeToEvict, "false"), std::string(kSafeToEvict)},
      {"the descheduler's annotation", annotate(kPreferNoEviction, ""), std::string(kPreferNoEviction)},
      {"a pod of another scheduler", [](api::Pod& pod) { pod.spec.scheduler_name = "other"; }, "other"},
      {"a pod that is being deleted",
       [](api::Pod& pod) { pod.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"; }, "deleted"},
      {"a pod that does not run", [](api::Pod& pod) { pod.status.phase = "Pending"; }, "Pending"},
      {"a pod of a pod group", [](api::Pod& pod) { pod.spec.pod_group = std::string("g"); }, "pod group g"},
      {"a member of a group by annotation", annotate("scheduling.berth.dev/group", "ray"),
       "default/group/ray"},
      {"an executor of Spark",
       [](api::Pod& pod) {
         pod.metadata.labels = api::Labels{{"spark-role", "executor"}, {"spark-app-selector", "spark-1"}};
         pod.metadata.annotations = api::Labels{{"scheduling.berth.dev/min-members", "3"}};
       },
       "default/spark/spark-1"},
      {"a member of a PodGroup of scheduler-plugins",
       [](api::Pod& pod) {
         pod.metadata.labels = api::Labels{{"scheduling.x-k8s.io/pod-group", "training"}};
       },
       "default/podgroups.scheduling.x-k8s.io/training"},
      {"a pod of an excluded namespace", [](api::Pod& pod) { pod.metadata.ns = "kube-system"; },
       "kube-system"},
  };
  Node("hot", 95);
  Node("cool", 20);
  for (const ProtectedPod& pod : pods) {
    testing::PodBuilder builder = Pod("web", "hot");
    pod.change(builder.raw());
    Add(builder, 2);
    const Plan plan = Make();
    EXPECT_THAT(plan.moves, IsEmpty()) << pod.what;
    EXPECT_THAT(OnlyRejected(plan), HasSubstr(pod.why)) << pod.what;
    EXPECT_EQ(plan.rejected_by_reason[static_cast<std::size_t>(Rejection::kProtected)], 1U) << pod.what;
    engine_->cache().RemovePod("uid-web");
  }
  settings_.evict_without_controller = settings_.evict_with_local_storage = true;
  testing::PodBuilder builder = Pod("web", "hot");
  builder.raw().metadata.controller.reset();
  builder.raw().spec.local_storage = true;
  Add(builder, 3);
  const Plan plan = Make();
  ASSERT_THAT(plan.moves, SizeIs(1)) << OnlyRejected(plan);
  EXPECT_THAT(plan.moves[0].costs, ElementsAre("age 0.2", "local storage 3.0", "controller 6.0"));
}

TEST_F(Planning, BudgetsWithoutRoomProtectTheirPods) {
  Node("hot", 95);
  Node("cool", 20);
  Add(Pod("web", "hot"), 2);
  Budget("web", 0);
  EXPECT_EQ(OnlyRejected(Make()), "default/web: budget: the PodDisruptionBudget budget allows no disruption");
  Budget("web", 1);
  EXPECT_THAT(Make().moves, SizeIs(1));
  Budget("web", 1, "another");
  EXPECT_EQ(OnlyRejected(Make()), "default/web: budget: it has more than one PodDisruptionBudget");
}

TEST_F(Planning, YoungPodsAndPodsOfChangingWorkloadsStay) {
  Node("hot", 95);
  Node("cool", 20);
  Add(Pod("web", "hot", std::chrono::minutes(14)), 2);
  EXPECT_EQ(OnlyRejected(Make()), "default/web: too-young: it started 14m ago");
  Add(Pod("web", "hot"), 2);
  testing::PodBuilder sibling = Pod("web", "cool", std::chrono::minutes(3));
  sibling.raw().metadata.name = "web-2";
  sibling.Uid("sibling");
  Add(sibling, 1);
  EXPECT_EQ(OnlyRejected(Make()),
            "default/web: too-young: another pod of default/ReplicaSet/web-set started 3m ago");
}

TEST_F(Planning, AWorkloadThatWasMovedIsNotMovedAgainWithinTheCoolDown) {
  Node("hot", 95);
  Node("cool", 20);
  Add(Pod("web", "hot"), 2);
  const std::string workload = "default/ReplicaSet/web-set";
  history_.Add({clock_.WallNow() - std::chrono::minutes(10), workload, "elsewhere", "hot2"});
  EXPECT_EQ(OnlyRejected(Make()),
            "default/web: cool-down: a pod of default/ReplicaSet/web-set was moved 10m ago");
  clock_.Advance(std::chrono::minutes(5));
  EXPECT_THAT(Make().moves, SizeIs(1));
}

TEST_F(Planning, AWorkloadDoesNotReturnToANodeThatItLeft) {
  Node("hot", 95);
  Node("cool", 20);
  Add(Pod("web", "hot"), 2);
  history_.Add({clock_.WallNow() - std::chrono::minutes(40), "default/ReplicaSet/web-set", "cool", "hot"});
  EXPECT_EQ(OnlyRejected(Make()),
            "default/web: would-return: the scheduler may place it on cool, which a pod of "
            "default/ReplicaSet/web-set left 40m ago");
}

TEST_F(Planning, AWorkloadStaysIfANodeThatItLeftIsNearlyAsGood) {
  Node("hot", 95);
  Node("cool", 20);
  Node("nearly", 21);
  Add(Pod("web", "hot"), 2);
  history_.Add({clock_.WallNow() - std::chrono::minutes(40), "default/ReplicaSet/web-set", "nearly", "hot"});
  EXPECT_THAT(OnlyRejected(Make()), HasSubstr("the scheduler may place it on nearly, which a pod of"));
}

TEST_F(Planning, ANodeFromOrToWhichAPodWasMovedCoolsDown) {
  Node("hot", 95);
  Node("cool", 20);
  Add(Pod("web", "hot"), 2);
  history_.Add({clock_.WallNow() - std::chrono::minutes(3), "default/ReplicaSet/a", "x", "hot"});
  const Plan plan = Make();
  EXPECT_THAT(plan.moves, IsEmpty());
  ASSERT_THAT(plan.overloaded, SizeIs(1));
  EXPECT_EQ(plan.overloaded[0].note, "a pod was moved from or to the node 3m ago");
}

TEST_F(Planning, TheMoveWithTheLargestBenefitAfterItsCostIsFirst) {
  settings_.per_node = 2;
  Node("hot", 130);
  Node("cool-a", 10);
  Node("cool-b", 12);
  testing::PodBuilder costly = Pod("costly", "hot");
  costly.raw().metadata.controller =
      api::OwnerReference{.api_version = "batch/v1", .kind = "Job", .name = "j", .uid = "u"};
  Add(costly, 2.2);
  Add(Pod("cheap", "hot"), 2.1);
  const Plan plan = Make();
  ASSERT_THAT(plan.moves, SizeIs(2));
  EXPECT_EQ(plan.moves[0].pod->metadata.name, "cheap");
  EXPECT_EQ(plan.moves[1].pod->metadata.name, "costly");
  EXPECT_EQ(plan.moves[0].to, "cool-a");
  // The second decision includes the load of the first move.
  EXPECT_EQ(plan.moves[1].to, "cool-b");
}

TEST_F(Planning, APlannedMoveTakesTheRoomOfItsNode) {
  settings_.per_node = 2;
  Node("hot-a", 95);
  Node("hot-b", 95);
  Node("cool", 10);
  Add(Pod("a", "hot-a").Container(testing::MakeContainer("large").Cpu("6")), 2);
  Add(Pod("b", "hot-b").Container(testing::MakeContainer("large").Cpu("6")), 2);
  const Plan plan = Make();
  ASSERT_THAT(plan.moves, SizeIs(1));
  EXPECT_EQ(plan.moves[0].pod->metadata.name, "a");
  EXPECT_THAT(OnlyRejected(plan), HasSubstr("default/b: destination: the scheduler would place it on hot-a"));
}

TEST_F(Planning, LimitsHold) {
  struct Limited {
    std::string what;
    std::function<void(PlanSettings&)> change;
    std::size_t moves;
  };
  const std::vector<Limited> rows{
      {"one move per node", [](PlanSettings&) {}, 2},
      {"one move per round", [](PlanSettings& settings) { settings.per_round = 1; }, 1},
      {"one move per namespace", [](PlanSettings& settings) { settings.per_namespace = 1; }, 1},
      {"three moves per hour, of which two were made", [](PlanSettings& settings) { settings.per_hour = 3; },
       1},
      {"two moves per hour, which were made", [](PlanSettings& settings) { settings.per_hour = 2; }, 0},
  };
  Node("hot-a", 95);
  Node("hot-b", 96);
  Node("cool-a", 10);
  Node("cool-b", 12);
  for (const std::string node : {"hot-a", "hot-b"}) {
    Add(Pod("one-" + node, node), 2);
    Add(Pod("two-" + node, node), 2);
  }
  for (int i = 0; i < 2; ++i)
    history_.Add({clock_.WallNow() - std::chrono::minutes(30), "default/ReplicaSet/a", "x", "y"});
  const PlanSettings defaults = settings_;
  for (const Limited& row : rows) {
    settings_ = defaults;
    row.change(settings_);
    EXPECT_THAT(Make().moves, SizeIs(row.moves)) << row.what;
  }
}

TEST_F(Planning, ANodeThatOneMoveRelievesLosesNoSecondPod) {
  settings_.per_node = 5;
  Node("hot", 95);
  Node("cool", 10);
  Node("cool-2", 10);
  Add(Pod("a", "hot"), 2);
  Add(Pod("b", "hot"), 2);
  const Plan plan = Make();
  EXPECT_THAT(plan.moves, SizeIs(1));
  EXPECT_EQ(OnlyRejected(plan), "default/b: limit: other moves lower the load of hot sufficiently");
}

TEST_F(Planning, EvaluationsAreBounded) {
  Node("cool", 10);
  Node("hot", 99);
  for (int i = 0; i < 20; ++i) Add(Pod("p" + std::to_string(i), "hot"), 0.6);
  const Plan plan = Make();
  EXPECT_LE(plan.evaluations, 2U * 8 * 2);
  EXPECT_EQ(plan.rejected_by_reason[static_cast<std::size_t>(Rejection::kNotEvaluated)], 12U);
}

// Nodes with a link of 1,000 megabytes per second, on which a pod that receives ten of them adds one percent.
class PlanningForTraffic : public Planning {
 protected:
  PlanningForTraffic()
      : Planning(
            "{preset: none, signals: [{name: cpu, weight: 1, threshold: 90},"
            " {name: network-receive, weight: 1, threshold: 80}]}") {}
  void Link(const std::string& name, double cpu, double receive, double speed = 1000) {
    Node(name, cpu);
    receive_[name] = receive;
    slowest_[name] = fastest_[name] = speed;
  }
  void AddReceiving(const testing::PodBuilder& pod, double cores, double megabytes) {
    Add(pod, cores);
    traffic_["default/" + pod.Share()->metadata.name] = megabytes;
  }
};

TEST_F(PlanningForTraffic, ThePodWithTheTrafficMoves) {
  Link("cool", 20, 10);
  Link("hot", 30, 90);
  AddReceiving(Pod("computes", "hot"), 2, 1);
  AddReceiving(Pod("receives", "hot"), 0.1, 300);
  const Plan plan = Make();
  EXPECT_EQ(plan.stopped, "");
  ASSERT_THAT(plan.moves, SizeIs(1));
  const Move& move = plan.moves[0];
  EXPECT_EQ(move.pod->metadata.name, "receives");
  EXPECT_EQ(move.signal, "network-receive");
  EXPECT_NEAR(move.pod_load, 30, 1e-6);
  EXPECT_NEAR(move.from_after, 60, 1e-6);
  EXPECT_NEAR(move.to_after, 40, 1e-6);
  EXPECT_EQ(OnlyRejected(plan),
            "default/computes: too-little: its network-receive load is only 0.1% of the node");
}

TEST_F(PlanningForTraffic, APodInTheNetworkOfItsNodeStays) {
  Link("cool", 20, 10);
  Link("hot", 30, 90);
  testing::PodBuilder pod = Pod("receives", "hot");
  pod.raw().spec.host_network = true;
  AddReceiving(pod, 0.1, 900);  // cAdvisor may report the traffic of the node
  EXPECT_THAT(Make().moves, IsEmpty());
  EXPECT_EQ(
      OnlyRejected(Make()),
      "default/receives: not-measured: it uses the network of its node, so its traffic is not measured");
}

TEST_F(PlanningForTraffic, APodInTheNetworkOfItsNodeMovesForOtherLoad) {
  Link("cool", 20, 10);
  Link("hot", 95, 30);
  testing::PodBuilder pod = Pod("web", "hot");
  pod.raw().spec.host_network = true;
  Add(pod, 2);
  AddReceiving(Pod("other", "cool"), 1, 50);
  const Plan plan = Make();
  ASSERT_THAT(plan.moves, SizeIs(1));
  EXPECT_EQ(plan.moves[0].signal, "cpu");
}

TEST_F(PlanningForTraffic, ADestinationMustHaveRoomForTheTraffic) {
  Link("cool", 20, 60);
  Link("hot", 95, 40);
  AddReceiving(Pod("web", "hot"), 2, 200);
  const Plan plan = Make();
  EXPECT_THAT(plan.moves, IsEmpty());
  EXPECT_EQ(OnlyRejected(plan),
            "default/web: destination: the scheduler would place it on cool: with network-receive at 80.0%, "
            "above 70.0%");
}

TEST_F(PlanningForTraffic, ALinkOfAnotherSpeedGetsAnotherShare) {
  Link("hot", 30, 90);
  Link("slow", 20, 10, 400);
  AddReceiving(Pod("web", "hot"), 0.1, 200);
  Plan plan = Make();
  ASSERT_THAT(plan.moves, SizeIs(1));
  EXPECT_NEAR(plan.moves[0].from_after, 70, 1e-6);
  EXPECT_NEAR(plan.moves[0].to_after, 60, 1e-6);
  slowest_["slow"] = 300;
  plan = Make();
  EXPECT_THAT(OnlyRejected(plan), HasSubstr("with network-receive at 76.7%, above 70.0%"));
}

TEST_F(PlanningForTraffic, OfSeveralLinksTheLeastReliefAndTheMostAdditionCount) {
  Link("hot", 30, 90);
  Link("cool", 20, 10);
  fastest_["hot"] = 2000;
  fastest_["cool"] = 4000;
  AddReceiving(Pod("web", "hot"), 0.1, 300);
  const Plan plan = Make();
  ASSERT_THAT(plan.moves, SizeIs(1));
  EXPECT_NEAR(plan.moves[0].from_after, 75, 1e-6);
  EXPECT_NEAR(plan.moves[0].to_after, 40, 1e-6);
}

TEST_F(PlanningForTraffic, OfSeveralLinksTheMostReliefCountsForAReturn) {
  Link("hot", 30, 90);
  Link("warm", 30, 35);
  AddReceiving(Pod("web", "hot"), 0.1, 300);
  fastest_["hot"] = 2000;  // after the move hot would be at 75 or 60, warm at 65
  EXPECT_THAT(OnlyRejected(Make()), HasSubstr("would-return"));
  slowest_["hot"] = 2000;
  EXPECT_THAT(Make().moves, SizeIs(1));
}

TEST_F(PlanningForTraffic, NewPodsCountWithTheTrafficOfTheirWorkload) {
  Link("hot", 30, 90);
  Link("cool", 20, 10);
  AddReceiving(Pod("web", "hot"), 0.1, 300);
  AddReceiving(Pod("job", "hot"), 0.1, 35);
  testing::PodBuilder sibling = Pod("job", "cool", std::chrono::seconds(20));
  sibling.raw().metadata.name = "job-2";
  sibling.Uid("sibling");
  engine_->cache().AddPod(sibling.Share());
  EXPECT_NEAR(Make().moves.at(0).to_before, 13.5, 1e-6);
}

TEST_F(PlanningForTraffic, WithoutTheTrafficOfPodsOnlyTheOtherSignalsAreBalanced) {
  Link("cool", 20, 10);
  Link("hot", 95, 40);
  Link("receiving", 30, 90);
  Add(Pod("web", "hot"), 2);
  Add(Pod("receives", "receiving"), 1);
  const Plan plan = Make();
  EXPECT_EQ(plan.stopped, "");
  ASSERT_THAT(plan.moves, SizeIs(1));
  EXPECT_EQ(plan.moves[0].signal, "cpu");
  ASSERT_THAT(plan.overloaded, SizeIs(2));
  EXPECT_EQ(plan.overloaded[0].name, "receiving");
  EXPECT_EQ(plan.overloaded[0].note, "the network-receive load of pods is not measured: no values");
}

// The configuration's text continues with a second profile.
class PlanningForTwoProfiles : public Planning {
 protected:
  PlanningForTwoProfiles()
      : Planning(
            "{preset: none, signals: [{name: cpu, weight: 1, threshold: 97, window: 5m}]}}]\n"
            "- schedulerName: second\n"
            "  plugins: {multiPoint: {enabled: [{name: LoadAware, weight: 20}]}}\n"
            "  pluginConfig: [{name: LoadAware, args: "
            "{preset: none, signals: [{name: cpu, weight: 1, threshold: 70, window: 15m}]}") {}
};

TEST_F(PlanningForTwoProfiles, ASignalIsTheOneWhoseThresholdIsExceeded) {
  Node("cool", 20);
  Node("hot", 85);
  Add(Pod("web", "hot"), 2);
  EXPECT_THAT(Make().moves, SizeIs(1));
}

TEST_F(PlanningForTraffic, APodDoesNotMoveBackAndForthBetweenTwoNodes) {
  Link("hot", 30, 90);
  Link("warm", 30, 30);
  settings_.margin = 0;
  AddReceiving(Pod("web", "hot"), 0.1, 480);  // hot would be at 42, warm at 78
  const Plan plan = Make();
  EXPECT_THAT(plan.moves, IsEmpty());
  EXPECT_THAT(OnlyRejected(plan), HasSubstr("would-return"));
}

TEST(LoadReading, ASignalWithItsOwnQueryIsNotAShareOfALink) {
  plugins::LoadSignalArgs args = *plugins::BuiltInSignal("network-receive");
  EXPECT_TRUE(plugins::IsShareOfLink(args));
  args.full = 2;
  EXPECT_FALSE(plugins::IsShareOfLink(args));
  args.full = 1;
  args.query += " * 8";
  EXPECT_FALSE(plugins::IsShareOfLink(args));
  EXPECT_FALSE(plugins::IsShareOfLink(*plugins::BuiltInSignal("cpu")));
  EXPECT_FALSE(plugins::IsShareOfLink(*plugins::BuiltInSignal("disk")));
}

TEST(LoadReading, TheLowestValueNeedsMostSamplesOfTheWindow) {
  load_metrics::SignalSpec spec{
      .name = "cpu", .source = "p", .expression = "x", .window = std::chrono::minutes(5)};
  const auto lowest = LowestOf(spec, std::chrono::minutes(10));
  EXPECT_EQ(lowest.expression, "min_over_time((x)[10m0s:1m0s]) and count_over_time((x)[10m0s:1m0s]) >= 8");
  EXPECT_EQ(lowest.window, std::chrono::minutes(15));
  // One sample would make a short peak an overload.
  EXPECT_EQ(LowestOf(spec, std::chrono::minutes(1)).expression,
            "min_over_time((x)[1m0s:6s]) and count_over_time((x)[1m0s:6s]) >= 8");
}

}  // namespace
}  // namespace berth::rebalance
