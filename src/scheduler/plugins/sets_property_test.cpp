// Filters return sets for all nodes; this test compares them with an evaluation per node on random clusters.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"
#include "kubernetes/api/requests.hpp"
#include "kubernetes/api/selectors.hpp"
#include "scheduler/plugins/node_affinity/node_affinity.hpp"
#include "scheduler/plugins/node_ports/node_ports.hpp"
#include "scheduler/plugins/node_resources/node_resources_fit.hpp"
#include "scheduler/plugins/taint_toleration/taint_toleration.hpp"
#include "testing/cluster.hpp"
#include "testing/repetitions.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::Expression;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeBuilder;
using berth::testing::PodBuilder;
using framework::Code;

// --- random objects with few distinct symbols, so that they match ---

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::size_t Below(std::size_t bound) { return random_.Below(bound); }
  bool OneIn(std::size_t n) { return Below(n) == 0; }
  std::string Of(std::initializer_list<const char*> words) { return *(words.begin() + Below(words.size())); }
  std::string Key() { return Of({"zone", "disk", "cores", "example.com/pool"}); }
  std::string Value() { return Of({"", "a", "b", "1", "5", "007", "-3", "x.y"}); }
  std::string NodeName() { return "n" + std::to_string(Below(90)); }

  Expression Label() {
    const std::string op = Of({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near"});
    Expression expression{OneIn(20) ? "not a key" : Key(), op, {}};
    const bool bare = op == "Exists" || op == "DoesNotExist";
    for (std::size_t i = bare ? 0 : 1 + Below(op == "In" || op == "NotIn" ? 3 : 1); i > 0; --i)
      expression.values.push_back(Value());
    if (OneIn(20)) expression.values.push_back("no value");
    return expression;
  }
  Expression Field() {
    Expression expression{
        OneIn(4) ? "metadata.namespace" : "metadata.name", Of({"In", "NotIn", "In", "Exists"}), {NodeName()}};
    if (OneIn(6)) expression.values = {""};
    if (OneIn(6)) expression.values.push_back(NodeName());
    return expression;
  }
  api::NodeSelectorTerm Term() {
    api::NodeSelectorTerm term;
    for (std::size_t i = Below(3); i > 0; --i) term.match_expressions.push_back(Label());
    if (OneIn(4)) term.match_fields.push_back(Field());
    return term;
  }
  NodeBuilder Node(std::size_t number) {
    NodeBuilder node = MakeNode("n" + std::to_string(number));
    for (std::size_t i = Below(4); i > 0; --i) node.Label(Key(), Value());
    for (std::size_t i = OneIn(2) ? Below(3) : 0; i > 0; --i)
      node.Taint(Key(), Value(), Of({"NoSchedule", "NoExecute", "PreferNoSchedule", ""}));
    node.Cpu(std::to_string(Below(4000)) + "m")
        .Memory(std::to_string(Below(8)) + "Gi")
        .Pods(std::to_string(Below(5)));
    if (OneIn(2)) node.Allocatable("example.com/gpu", std::to_string(Below(4)));
    return node;
  }
  PodBuilder Pod() {
    PodBuilder pod = MakePod("p");
    if (OneIn(2)) pod.Cpu(std::to_string(Below(3000)) + "m");
    if (OneIn(2)) pod.Memory(std::to_string(Below(6)) + "Gi");
    if (OneIn(3)) pod.Request("example.com/gpu", std::to_string(Below(4)));
    if (OneIn(5)) pod.Request("example.com/unoffered", std::to_string(Below(2)));
    for (std::size_t i = Below(3); i > 0; --i)
      pod.HostPort(static_cast<std::int32_t>(80 + Below(3)), Of({"TCP", "UDP", ""}),
                   Of({"", "0.0.0.0", "10.0.0.1", "::"}));
    for (std::size_t i = Below(3); i > 0; --i)
      pod.Tolerating(OneIn(4) ? "" : Key(), Of({"Exists", "Equal", "", "Lt"}), Value(),
                     Of({"", "NoSchedule", "NoExecute"}));
    if (OneIn(3)) pod.Selecting(Key(), Value());
    if (OneIn(2)) {
      std::vector<api::NodeSelectorTerm> terms;
      for (std::size_t i = Below(4); i > 0; --i) terms.push_back(Term());
      pod.Requiring(terms);
    }
    return pod;
  }

 private:
  Random random_;
};

// --- evaluation per node ---

struct NodeWithPods {
  api::Node node;
  std::vector<api::Pod> pods;
};

bool Matches(const api::NodeSelectorTerm& term, const api::Node& node) {
  if (term.empty()) return false;
  for (const Expression& expression : term.match_expressions) {
    const auto requirement = api::ParseNodeRequirement(expression, "", nullptr);
    if (!requirement || !requirement->Matches(node.metadata.labels.Find(expression.key))) return false;
  }
  for (const Expression& expression : term.match_fields) {
    const auto requirement = api::ParseFieldRequirement(expression, "", nullptr);
    const std::string value = expression.key == "metadata.name" ? node.metadata.name : "";
    if (!requirement || !requirement->Matches(&value)) return false;
  }
  return true;
}

bool AffinityFits(const api::Pod& pod, const NodeWithPods& plain) {
  for (const auto& [key, value] : pod.spec.node_selector) {
    const std::string* label = plain.node.metadata.labels.Find(key);
    if (label == nullptr || *label != value) return false;
  }
  if (!pod.spec.node_affinity || !pod.spec.node_affinity->required) return true;
  return std::ranges::any_of(pod.spec.node_affinity->required->terms,
                             [&](const auto& term) { return Matches(term, plain.node); });
}

bool TaintsFit(const api::Pod& pod, const NodeWithPods& plain) {
  return std::ranges::none_of(plain.node.taints, [&](const api::Taint& taint) {
    return (taint.effect == "NoSchedule" || taint.effect == "NoExecute") &&
           std::ranges::none_of(pod.spec.tolerations,
                                [&](const auto& toleration) { return api::Tolerates(toleration, taint); });
  });
}

bool PortsFit(const api::Pod& pod, const NodeWithPods& plain) {
  const auto any = [](const std::string& address) { return address.empty() || address == "0.0.0.0"; };
  const auto protocol = [](const std::string& text) { return text.empty() ? "TCP" : text; };
  for (const api::ContainerPort& wanted : pod.spec.containers[0].ports) {
    for (const api::Pod& other : plain.pods) {
      for (const api::ContainerPort& taken : other.spec.containers[0].ports) {
        if (wanted.host_port == taken.host_port && protocol(wanted.protocol) == protocol(taken.protocol) &&
            (any(wanted.host_ip) || any(taken.host_ip) || wanted.host_ip == taken.host_ip)) {
          return false;
        }
      }
    }
  }
  return true;
}

berth::testing::Verdict Resources(const api::Pod& pod, const NodeWithPods& plain) {
  berth::testing::Verdict verdict;
  const auto amount = [](const api::ResourceList& list, const std::string& name) {
    const auto found = list.find(name);
    return found == list.end() ? 0 : name == "cpu" ? found->second.MilliValue() : found->second.Value();
  };
  if (static_cast<std::int64_t>(plain.pods.size()) + 1 > amount(plain.node.allocatable, "pods"))
    verdict.reasons.push_back("Too many pods");
  bool never = false;
  for (const auto* name : {"cpu", "memory", "example.com/gpu", "example.com/unoffered"}) {
    const std::int64_t request = amount(api::PodRequests(pod, {}), name);
    std::int64_t free = amount(plain.node.allocatable, name);
    never = never || request > free;
    for (const api::Pod& other : plain.pods) free -= amount(api::PodRequests(other, {}), name);
    if (request > 0 && request > free) verdict.reasons.push_back(std::string("Insufficient ") + name);
  }
  if (!verdict.reasons.empty())
    verdict.code = never ? Code::kUnschedulableAndUnresolvable : Code::kUnschedulable;
  return verdict;
}

// --- comparison ---

TEST(FiltersProperty, SetsEqualPerNodeEvaluation) {
  std::size_t fitting = 0;
  std::size_t rejected = 0;
  for (std::uint64_t seed = 1; seed <= testing::Repetitions(150); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Draw draw(seed);
    Cluster cluster;
    std::map<std::string, NodeWithPods> plain;
    const std::size_t nodes = 1 + draw.Below(90);
    for (std::size_t i = 0; i < nodes; ++i) {
      const api::Node node = draw.Node(i);
      cluster.Add(node);
      NodeWithPods& entry = plain[node.metadata.name];
      entry.node = node;
      for (std::size_t p = draw.Below(4); p > 0; --p) {
        entry.pods.push_back(draw.Pod());
        cluster.Run(node.metadata.name, entry.pods.back());
      }
    }
    // Rows of removed nodes remain part of the sets.
    for (std::size_t i = 0; i < nodes / 10; ++i) {
      const std::string name = "n" + std::to_string(draw.Below(nodes));
      if (plain.erase(name) == 0) continue;
      const auto row = cluster.RowOf(name);
      while (!cluster.nodes().pods(row).empty())
        cluster.nodes().RemovePod(row, *cluster.nodes().pods(row).back());
      cluster.nodes().Remove(row);
    }
    const auto affinity = cluster.Make<NodeAffinity>();
    const auto taints = cluster.Make<TaintToleration>();
    const auto ports = cluster.Make<NodePorts>();
    const auto fit = cluster.Make<NodeResourcesFit>();
    for (int i = 0; i < 10; ++i) {
      const api::Pod pod = draw.Pod();
      const auto by_affinity = cluster.Filter(*affinity, pod);
      const auto by_taints = cluster.Filter(*taints, pod);
      const auto by_ports = cluster.Filter(*ports, pod);
      const auto by_fit = cluster.Filter(*fit, pod);
      for (const auto& [name, node] : plain) {
        SCOPED_TRACE("pod " + std::to_string(i) + " on " + name);
        ASSERT_EQ(by_affinity.at(name).code == Code::kSuccess, AffinityFits(pod, node));
        ASSERT_EQ(by_taints.at(name).code == Code::kSuccess, TaintsFit(pod, node));
        ASSERT_EQ(by_ports.at(name).code == Code::kSuccess, PortsFit(pod, node));
        ASSERT_EQ(by_fit.at(name), Resources(pod, node));
        for (const auto* verdicts : {&by_affinity, &by_taints, &by_ports, &by_fit}) {
          ++(verdicts->at(name).code == Code::kSuccess ? fitting : rejected);
        }
      }
    }
  }
  // Guards against test data in which almost all or almost no nodes are feasible.
  EXPECT_GT(fitting, rejected / 5);
  EXPECT_GT(rejected, fitting / 5);
}

TEST(FiltersProperty, PreferredTermsEqualPerNodeEvaluation) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Draw draw(seed);
    Cluster cluster;
    std::map<std::string, api::Node> plain;
    for (std::size_t i = 0; i < 70; ++i) {
      const api::Node node = draw.Node(i);
      cluster.Add(node);
      plain[node.metadata.name] = node;
    }
    const auto plugin = cluster.Make<NodeAffinity>();
    PodBuilder pod = MakePod();
    std::vector<std::pair<std::int32_t, api::NodeSelectorTerm>> terms;
    for (int i = 0; i < 3; ++i) {
      terms.emplace_back(1 + static_cast<std::int32_t>(draw.Below(100)), draw.Term());
      pod.Preferring(terms.back().first, terms.back().second);
    }
    if (!cluster.PreScore(*plugin, pod).ok()) continue;  // a term is invalid
    const auto scores = cluster.RawScores(*plugin, pod);
    for (const auto& [name, node] : plain) {
      std::int64_t sum = 0;
      for (const auto& [weight, term] : terms) sum += Matches(term, node) ? weight : 0;
      ASSERT_EQ(scores.at(name), sum) << "seed " << seed << ", " << name;
    }
  }
}

}  // namespace
}  // namespace berth::plugins
