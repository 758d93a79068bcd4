// Random clusters: each advice is applied to the objects, a new engine is built from them, and the nodes that
// fit must be those of the advice.
#include "scheduler/explanation/advice.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "base/random.hpp"
#include "scheduler/explanation/fake_cluster.hpp"
#include "testing/repetitions.hpp"

namespace berth::explanation {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeBuilder;
using berth::testing::PodBuilder;

class RandomCluster {
 public:
  explicit RandomCluster(std::uint64_t seed) : random_(seed) {}

  FakeCluster Make() {
    FakeCluster cluster;
    const std::uint64_t nodes = 2 + Below(7);
    for (std::uint64_t i = 0; i < nodes; ++i) cluster.Add(Node("n" + std::to_string(i)));
    const std::uint64_t pods = Below(4 * nodes);
    // A port is taken once per node: a node forgets it with the first of two pods, as in kube-scheduler.
    std::set<std::uint64_t> with_port;
    for (std::uint64_t i = 0; i < pods; ++i) {
      const std::uint64_t node = Below(nodes);
      const bool port = Chance(4) && with_port.insert(node).second;
      api::Pod placed = Placed("p" + std::to_string(i), port);
      // Copies of these come with a new node.
      if (i % 6 == 5) placed.metadata.controller = api::OwnerReference{"apps/v1", "DaemonSet", "agent", "u"};
      cluster.Run("n" + std::to_string(node), placed);
    }
    return cluster;
  }

  // Most of these fit nowhere.
  api::PodPtr Pending() {
    PodBuilder pod = MakePod("new").Uid("new").Label("app", App()).Priority(Priority());
    pod.Cpu(std::to_string(1 + Below(8)));
    if (Chance(3)) pod.Memory(std::to_string(1 + Below(12)) + "Gi");
    if (Chance(5)) pod.Request("example.com/gpu", std::to_string(1 + Below(3)));
    if (Chance(3)) pod.Selecting("disk", Chance(2) ? "sdd" : "ssd");
    if (Chance(6)) pod.Requiring({berth::testing::Term({{kZone, "In", {Zone()}}, {"disk", "Exists", {}}})});
    if (Chance(3)) pod.Tolerating("dedicated", "Equal", App(), "NoSchedule");
    if (Chance(4)) pod.HostPort(8080);
    if (Chance(8)) pod.Gate("example.com/quota");
    if (Chance(12)) pod.Scheduler("other");
    api::Pod raw = pod;
    if (Chance(3)) raw.spec.topology_spread_constraints.push_back(Spread(raw));
    if (Chance(4)) raw.spec.pod_anti_affinity.emplace().required.push_back(Term());
    if (Chance(8)) raw.spec.pod_affinity.emplace().required.push_back(Term());
    raw.spec.never_preempts = Chance(8);
    return std::make_shared<const api::Pod>(std::move(raw));
  }

 private:
  std::uint64_t Below(std::uint64_t bound) { return random_.Below(bound); }
  bool Chance(std::uint64_t one_in) { return Below(one_in) == 0; }
  std::string App() { return std::string(1, static_cast<char>('a' + Below(3))); }
  std::string Zone() { return "z" + std::to_string(Below(3)); }
  std::int32_t Priority() { return static_cast<std::int32_t>(Below(3) * 100); }

  api::Node Node(const std::string& name) {
    NodeBuilder node =
        MakeNode(name).Cpu(std::to_string(2 + Below(6))).Memory(std::to_string(4 + Below(8)) + "Gi");
    node.Label(kHost, name);
    if (!Chance(5)) node.Zone(Zone());
    if (!Chance(3)) node.Label("disk", Chance(2) ? "ssd" : "hdd");
    if (Chance(4)) node.Taint("dedicated", App(), "NoSchedule");
    if (Chance(8)) node.Taint("node.kubernetes.io/not-ready", "", "NoExecute");
    if (Chance(8)) node.Cordoned();
    if (Chance(4)) node.Pods(std::to_string(1 + Below(4)));
    if (Chance(3)) node.Allocatable("example.com/gpu", std::to_string(1 + Below(2)));
    return node;
  }
  api::Pod Placed(const std::string& name, bool port) {
    PodBuilder pod = MakePod(name).Uid(name).Label("app", App()).Priority(Priority());
    pod.Cpu(std::to_string(Below(4)));
    if (port) pod.HostPort(8080);
    api::Pod raw = pod;
    if (Chance(8)) raw.spec.pod_anti_affinity.emplace().required.push_back(Term());
    return raw;
  }
  api::PodAffinityTerm Term() {
    api::PodAffinityTerm term;
    term.label_selector.emplace().match_labels.Set("app", App());
    term.topology_key = Chance(2) ? kZone : kHost;
    return term;
  }
  api::TopologySpreadConstraint Spread(const api::Pod& pod) {
    api::TopologySpreadConstraint constraint;
    constraint.max_skew = 1;
    constraint.topology_key = Chance(2) ? kZone : kHost;
    constraint.when_unsatisfiable = Chance(4) ? "ScheduleAnyway" : "DoNotSchedule";
    constraint.label_selector.emplace().match_labels.Set("app", *pod.metadata.labels.Find("app"));
    if (Chance(4)) constraint.node_taints_policy = "Honor";
    return constraint;
  }

  Random random_;
};

std::size_t Seeds() {
  const char* given = std::getenv("BERTH_ADVICE_SEEDS");
  return given == nullptr ? testing::Repetitions(600) : std::strtoul(given, nullptr, 10);
}

// The cluster from which an advice results: for preemption, after the eviction.
FakeCluster AfterAdvice(const FakeCluster& cluster, const Advice& advice) {
  Change change = advice.change;
  for (const api::PodPtr& pod : cluster.bound) {
    const bool victim = pod->spec.node_name == advice.victims_node &&
                        std::ranges::find(advice.victims, pod->metadata.Key()) != advice.victims.end();
    if (victim) change.leaving.push_back(pod);
  }
  return cluster.After(change);
}

TEST(Advice, NamesTheNodesThatFitWhenItIsApplied) {
  std::size_t unschedulable = 0, checked = 0;
  std::set<std::string> kinds;
  for (std::uint64_t seed = 1; seed <= Seeds(); ++seed) {
    RandomCluster random(seed);
    const FakeCluster cluster = random.Make();
    const api::PodPtr pod = random.Pending();
    const auto built = cluster.Build();
    const Explanation explanation = ExplainPod(*built->evaluator, pod);
    if (explanation.record->result != record::Result::kScheduled) ++unschedulable;
    for (const Advice& advice : explanation.advice) {
      ++checked;
      for (const std::string& step : advice.steps) kinds.insert(step.substr(0, step.find(' ')));
      const api::PodPtr changed = advice.change.pod == nullptr ? pod : advice.change.pod;
      ASSERT_FALSE(advice.nodes.empty()) << "seed " << seed << ": " << advice.steps.front();
      ASSERT_EQ(AfterAdvice(cluster, advice).Fitting(changed), advice.nodes)
          << "seed " << seed << ": " << advice.steps.front();
      if (!advice.victims.empty()) {
        const auto again = cluster.Build();
        cluster::PodInfo info;
        const auto attempt = again->evaluator->Evaluate(changed, info);
        ASSERT_TRUE(attempt->nomination) << "seed " << seed;
        ASSERT_EQ(attempt->nomination->node, advice.victims_node) << "seed " << seed;
        ASSERT_EQ(attempt->nomination->victims, advice.victims) << "seed " << seed;
      }
    }
    // The cluster is as before.
    cluster::PodInfo info;
    ASSERT_EQ(record::ToJson(*built->evaluator->Evaluate(pod, info), built->engine->reasons()),
              record::ToJson(*cluster.Build()->evaluator->Evaluate(pod, info), built->engine->reasons()))
        << "seed " << seed;
  }
  RecordProperty("unschedulable", static_cast<int>(unschedulable));
  RecordProperty("checked", static_cast<int>(checked));
  // The generator reaches every kind of advice.
  EXPECT_EQ(kinds, (std::set<std::string>{"add", "free", "label", "lower", "no", "prefer", "raise", "remove",
                                          "repair", "require", "set", "uncordon", "use", "wait"}));
  EXPECT_GT(checked, unschedulable);
}

}  // namespace
}  // namespace berth::explanation
