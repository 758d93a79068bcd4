#include "scheduler/plugins/pod_topology_spread/pod_topology_spread.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>

#include "base/random.hpp"
#include "testing/cluster.hpp"
#include "testing/repetitions.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::Fits;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeScores;
using berth::testing::PodBuilder;
using berth::testing::Unresolvable;
using berth::testing::Unschedulable;
using berth::testing::Verdicts;

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kHostname = "kubernetes.io/hostname";
const std::string kUneven = "node(s) didn't match pod topology spread constraints";
const std::string kLacksKey = "node(s) didn't match pod topology spread constraints (missing required label)";

api::TopologySpreadConstraint Hard(const std::string& key, std::int32_t max_skew) {
  api::TopologySpreadConstraint constraint;
  constraint.topology_key = key;
  constraint.max_skew = max_skew;
  constraint.when_unsatisfiable = "DoNotSchedule";
  constraint.label_selector.emplace().match_labels = {{"app", "web"}};
  return constraint;
}
api::TopologySpreadConstraint Soft(const std::string& key, std::int32_t max_skew) {
  api::TopologySpreadConstraint constraint = Hard(key, max_skew);
  constraint.when_unsatisfiable = "ScheduleAnyway";
  return constraint;
}
api::Pod Web(std::initializer_list<api::TopologySpreadConstraint> constraints, bool own_label = true) {
  api::Pod pod = MakePod("new");
  if (own_label) pod.metadata.labels.Set("app", "web");
  pod.spec.topology_spread_constraints = constraints;
  return pod;
}
// One node per zone, named like the zone, with this number of web pods.
void AddZones(Cluster& cluster, std::initializer_list<std::pair<const char*, int>> zones) {
  for (const auto& [zone, pods] : zones) {
    cluster.Add(MakeNode(zone).Zone(zone).Label(kHostname, zone));
    for (int i = 0; i < pods; ++i)
      cluster.Run(zone, MakePod(std::string(zone) + std::to_string(i)).Label("app", "web"));
  }
}

TEST(PodTopologySpread, RejectsNodesThatExceedMaxSkew) {
  struct Case {
    const char* sentence;
    std::initializer_list<std::pair<const char*, int>> zones;
    api::Pod pod;
    Verdicts expected;
  };
  api::TopologySpreadConstraint four_domains = Hard(kZone, 1);
  four_domains.min_domains = 4;
  api::TopologySpreadConstraint everybody = Hard(kZone, 1);
  everybody.label_selector.emplace();
  api::TopologySpreadConstraint no_selector = Hard(kZone, 1);
  no_selector.label_selector.reset();
  const auto uneven = Unschedulable({kUneven});
  const Case cases[] = {
      {"only the emptiest zone will do",
       {{"a", 3}, {"b", 1}, {"c", 0}},
       Web({Hard(kZone, 1)}),
       {{"a", uneven}, {"b", uneven}, {"c", Fits()}}},
      {"a greater skew is allowed",
       {{"a", 3}, {"b", 1}, {"c", 0}},
       Web({Hard(kZone, 2)}),
       {{"a", uneven}, {"b", Fits()}, {"c", Fits()}}},
      {"with too few domains the minimum is 0",
       {{"a", 1}, {"b", 1}, {"c", 0}},
       Web({four_domains}),
       {{"a", uneven}, {"b", uneven}, {"c", Fits()}}},
      {"a pod that does not match adds nothing",
       {{"a", 2}, {"b", 2}},
       Web({Hard(kZone, 1)}, false),
       {{"a", Fits()}, {"b", Fits()}}},
      {"an empty selector counts only the pod itself",
       {{"a", 2}, {"b", 0}},
       Web({everybody}),
       {{"a", Fits()}, {"b", Fits()}}},
      {"no selector matches nothing",
       {{"a", 5}, {"b", 0}},
       Web({no_selector}),
       {{"a", Fits()}, {"b", Fits()}}},
      {"the first constraint that is broken is named once",
       {{"a", 2}, {"b", 0}},
       Web({Hard(kZone, 1), Hard(kHostname, 1)}),
       {{"a", uneven}, {"b", Fits()}}},
  };
  for (const Case& c : cases) {
    Cluster cluster;
    AddZones(cluster, c.zones);
    EXPECT_EQ(cluster.Evaluate(*cluster.Make<PodTopologySpread>(), c.pod), c.expected) << c.sentence;
  }
}

TEST(PodTopologySpread, NodesWithoutTheLabelAreUnresolvableAndNotCounted) {
  Cluster cluster;
  AddZones(cluster, {{"a", 1}});
  cluster.Add(MakeNode("no-zone"));
  EXPECT_EQ(cluster.Evaluate(*cluster.Make<PodTopologySpread>(), Web({Hard(kZone, 1)})),
            (Verdicts{{"a", Fits()}, {"no-zone", Unresolvable({kLacksKey})}}));
}

TEST(PodTopologySpread, InclusionPoliciesSelectTheNodesThatCount) {
  Cluster cluster;
  AddZones(cluster, {{"a", 2}});
  cluster.Add(MakeNode("empty").Zone("b").Taint("dedicated", "x", "NoSchedule"));
  const auto plugin = cluster.Make<PodTopologySpread>();
  api::TopologySpreadConstraint honor = Hard(kZone, 2);
  honor.node_taints_policy = "Honor";
  // If taints are ignored, the tainted zone has the fewest pods; if honored, it is not eligible.
  EXPECT_EQ(cluster.Evaluate(*plugin, Web({Hard(kZone, 2)})).at("a"), Unschedulable({kUneven}));
  EXPECT_EQ(cluster.Evaluate(*plugin, Web({honor})).at("a"), Fits());
  PodBuilder here = MakePod("new").Label("app", "web").Selecting(kZone, "a");
  here.raw().spec.topology_spread_constraints = {Hard(kZone, 2)};
  EXPECT_EQ(cluster.Evaluate(*plugin, here).at("a"), Fits());
  api::TopologySpreadConstraint anywhere = Hard(kZone, 2);
  anywhere.node_affinity_policy = "Ignore";
  here.raw().spec.topology_spread_constraints = {anywhere};
  EXPECT_EQ(cluster.Evaluate(*plugin, here).at("a"), Unschedulable({kUneven}));
}

TEST(PodTopologySpread, TerminatingPodsAndOtherNamespacesDoNotCount) {
  Cluster cluster;
  AddZones(cluster, {{"a", 0}, {"b", 0}});
  cluster.Run("a", MakePod("t").Label("app", "web").Deleting());
  cluster.Run("a", MakePod("o").Namespace("other").Label("app", "web"));
  EXPECT_EQ(cluster.Evaluate(*cluster.Make<PodTopologySpread>(), Web({Hard(kZone, 1)})),
            (Verdicts{{"a", Fits()}, {"b", Fits()}}));
}

TEST(PodTopologySpread, OnlyTheTwoEmptiestDomainsAreFollowedInDryRuns) {
  Cluster cluster;
  AddZones(cluster, {{"a", 0}, {"b", 0}, {"c", 1}});
  const auto plugin = cluster.Make<PodTopologySpread>();
  const cluster::PodInfo pod = cluster.Prepare(Web({Hard(kZone, 1)}));
  framework::ScratchPool scratch;
  framework::CycleState state;
  const framework::Attempt attempt(pod, cluster.nodes(), state, scratch);
  ASSERT_TRUE(plugin->PreFilter(attempt).status.ok());
  for (const auto* zone : {"a", "b"}) {
    for (int i = 0; i < 2; ++i) {
      cluster.Run(zone, MakePod(std::string("victim-") + zone + std::to_string(i)).Label("app", "web"));
      const cluster::Row row = cluster.RowOf(zone);
      ASSERT_TRUE(plugin->AddPod(attempt, *cluster.nodes().pods(row).back(), row).ok());
    }
  }
  framework::Rejections rejections;
  plugin->Filter(attempt, cluster.nodes().all(), rejections);
  RowSet rejected(cluster.nodes().rows());
  for (const auto& part : rejections.entries()) rejected |= part.rows;
  EXPECT_TRUE(rejected.Empty()) << "zone c has fewer pods than a and b, which kube-scheduler does not see";
}

TEST(PodTopologySpread, ScoresEqualThoseOfKubeScheduler) {
  struct Case {
    const char* sentence;
    std::initializer_list<std::pair<const char*, int>> zones;
    api::Pod pod;
    NodeScores expected;
  };
  const Case cases[] = {
      {"zones", {{"a", 3}, {"b", 1}, {"c", 0}}, Web({Soft(kZone, 1)}), {{"a", 0}, {"b", 60}, {"c", 100}}},
      {"hosts",
       {{"a", 2}, {"b", 1}, {"c", 0}, {"d", 1}},
       Web({Soft(kHostname, 1)}),
       {{"a", 0}, {"b", 50}, {"c", 100}, {"d", 50}}},
      {"equal counts", {{"a", 2}, {"b", 2}}, Web({Soft(kZone, 1)}), {{"a", 100}, {"b", 100}}},
  };
  for (const Case& c : cases) {
    Cluster cluster;
    AddZones(cluster, c.zones);
    EXPECT_EQ(cluster.Rate(*cluster.Make<PodTopologySpread>(), c.pod), c.expected) << c.sentence;
  }
}

// kube-scheduler's arithmetic, node by node, independent of the plugin's implementation.
struct PlainNode {
  std::string name;
  std::string zone;  // empty: no label
  bool hostname = true;
  int pods = 0;
};
NodeScores PlainScores(const std::vector<PlainNode>& nodes,
                       const std::vector<api::TopologySpreadConstraint>& constraints) {
  const auto about = [&](const char* key) {
    return std::ranges::find(constraints, key, &api::TopologySpreadConstraint::topology_key) !=
           constraints.end();
  };
  const auto counts = [&](const PlainNode& node) {
    return (!node.zone.empty() || !about(kZone)) && (node.hostname || !about(kHostname));
  };
  std::map<std::string, int> of_zone;
  int scored = 0;
  for (const PlainNode& node : nodes) {
    if (!counts(node)) continue;
    ++scored;
    of_zone[node.zone] += node.pods;
  }
  std::map<std::string, std::int64_t> raw;
  for (const PlainNode& node : nodes) {
    if (!counts(node)) continue;
    double sum = 0;
    for (const api::TopologySpreadConstraint& constraint : constraints) {
      const bool by_zone = constraint.topology_key == kZone;
      const double weight =
          std::log(static_cast<double>(by_zone ? of_zone.size() : static_cast<std::size_t>(scored)) + 2);
      sum += (by_zone ? of_zone[node.zone] : node.pods) * weight + (constraint.max_skew - 1);
    }
    raw[node.name] = std::llround(sum);
  }
  NodeScores scores;
  for (const PlainNode& node : nodes) scores[node.name] = 0;
  if (raw.empty()) return scores;
  const auto [lowest, highest] = std::ranges::minmax(raw | std::views::values);
  for (const auto& [name, value] : raw)
    scores[name] = highest == 0 ? 100 : 100 * (highest + lowest - value) / highest;
  return scores;
}

TEST(PodTopologySpread, ScoresEqualKubeSchedulersArithmeticOnRandomClusters) {
  Random random(4);
  for (std::size_t round = 0; round < testing::Repetitions(400); ++round) {
    Cluster cluster;
    std::vector<PlainNode> nodes;
    const std::uint64_t zones = 1 + random.Below(6);
    const bool some_lack_labels = random.Below(2) == 0;
    const std::uint64_t crowd = 1 + random.Below(40);
    for (std::uint64_t i = 1 + random.Below(90); i > 0; --i) {
      PlainNode& node = nodes.emplace_back();
      node.name = "n" + std::to_string(i);
      auto built = MakeNode(node.name);
      if (!some_lack_labels || random.Below(10) > 0) {
        node.zone = "z" + std::to_string(random.Below(zones));
        built.Zone(node.zone);
      }
      node.hostname = !some_lack_labels || random.Below(10) > 0;
      if (node.hostname) built.Label(kHostname, node.name);
      cluster.Add(built);
      node.pods = random.Below(3) == 0 ? static_cast<int>(random.Below(crowd)) : 0;
      for (int k = 0; k < node.pods; ++k)
        cluster.Run(node.name, MakePod(node.name + "-" + std::to_string(k)).Label("app", "web"));
    }
    api::Pod pod = Web({});
    std::vector<api::TopologySpreadConstraint> constraints;
    const auto skew = [&] { return static_cast<std::int32_t>(1 + random.Below(4)); };
    const std::uint64_t which = random.Below(4);
    if (which != 0) constraints.push_back(Soft(kZone, skew()));
    if (which != 1) constraints.push_back(Soft(kHostname, skew()));
    if (which == 3) std::swap(constraints[0], constraints[1]);
    for (const auto& constraint : constraints) pod.spec.topology_spread_constraints.push_back(constraint);
    const auto plugin = cluster.Make<PodTopologySpread>();
    ASSERT_EQ(cluster.Rate(*plugin, pod), PlainScores(nodes, constraints)) << "round " << round;
  }
}

// The handle of the cluster with other counters.
framework::Handle HandleWith(cluster::PodCounters& counters, Cluster& cluster) {
  const framework::Handle& known = cluster.handle();
  return {.symbols = known.symbols,
          .reasons = known.reasons,
          .nodes = known.nodes,
          .objects = known.objects,
          .counters = counters,
          .volumes = known.volumes,
          .devices = known.devices,
          .groups = known.groups,
          .pending = known.pending,
          .signals = known.signals,
          .api = known.api,
          .events = known.events,
          .loop = known.loop,
          .scheduler = known.scheduler};
}

TEST(PodTopologySpread, EachConstraintHasItsOwnCountsBeyondTheLimitOfCounters) {
  api::TopologySpreadConstraint databases = Soft(kZone, 1);
  databases.label_selector->match_labels = {{"app", "db"}};
  const api::Pod pod = Web({Soft(kHostname, 1), databases});
  const auto fill = [](Cluster& cluster) {
    AddZones(cluster, {{"a", 3}, {"b", 1}, {"c", 0}});
    for (const char* name : {"d1", "d2"}) cluster.Run("c", MakePod(name).Label("app", "db"));
  };
  Cluster maintained, counted;
  fill(maintained);
  fill(counted);
  cluster::PodCounters counters(counted.nodes(), counted.objects(), 0);
  framework::Handle handle = HandleWith(counters, counted);
  const NodeScores expected = maintained.Rate(*maintained.Make<PodTopologySpread>(), pod);
  EXPECT_EQ(counted.Rate(PodTopologySpread(PodTopologySpreadArgs{}, handle), pod), expected);
  EXPECT_GT(expected.at("b"), expected.at("a"));
}

TEST(PodTopologySpread, SystemDefaultsSpreadThePodsOfAService) {
  Cluster cluster;
  for (const auto& [node, zone] : {std::pair{"n1", "a"}, {"n2", "a"}, {"n3", "b"}, {"n4", "b"}})
    cluster.Add(MakeNode(node).Zone(zone).Label(kHostname, node));
  for (const char* node : {"n1", "n1", "n2"}) cluster.Run(node, MakePod(node).Label("app", "web"));
  const auto plugin = cluster.Make<PodTopologySpread>();
  const api::Pod pod = MakePod("new").Label("app", "web");
  EXPECT_EQ(cluster.Rate(*plugin, pod), NodeScores{}) << "no service or controller selects the pods yet";
  api::Service service;
  service.metadata.name = "web";
  service.metadata.ns = "default";
  service.selector = {{"app", "web"}};
  cluster.Put(service);
  EXPECT_EQ(cluster.Rate(*plugin, pod), (NodeScores{{"n1", 42}, {"n2", 57}, {"n3", 100}, {"n4", 100}}));
}

TEST(PodTopologySpread, DefaultsApplyToPodsOfAController) {
  Cluster cluster;
  AddZones(cluster, {{"a", 2}, {"b", 0}});
  const auto plugin = cluster.Make<PodTopologySpread>();
  api::Pod pod = MakePod("new").Label("app", "web");
  pod.metadata.controller = api::OwnerReference{"apps/v1", "ReplicaSet", "web", "u"};
  EXPECT_EQ(cluster.Rate(*plugin, pod), NodeScores{});
  api::ReplicaSet set;
  set.metadata.name = "web";
  set.metadata.ns = "default";
  set.selector.emplace().match_labels = {{"app", "web"}};
  cluster.Put(set);
  const NodeScores scores = cluster.Rate(*plugin, pod);
  EXPECT_LT(scores.at("a"), scores.at("b"));
}

config::FeatureGates GatesWithoutMatchLabelKeys() {
  const std::string values[] = {
      "MatchLabelKeysInPodTopologySpread=false,MatchLabelKeysInPodTopologySpreadSelectorMerge=false"};
  std::vector<std::string> notes;
  return config::FeatureGates::Parse(values, notes).value();
}

// The members of a pod group are tested again after PreFilter has run for others.
TEST(PodTopologySpread, AnAttemptKeepsItsConstraintsWhenCachedOnesAreReplaced) {
  struct Case {
    const char* sentence;
    const char* args;
    api::Pod pod;
  };
  api::Pod of_service = MakePod("new").Label("app", "web");
  const Case cases[] = {
      {"constraints of the pod, compiled without matchLabelKeys", "", Web({Hard(kZone, 1)})},
      {"default constraints",
       "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, "
       "whenUnsatisfiable: DoNotSchedule}]}",
       of_service},
  };
  for (const Case& c : cases) {
    Cluster cluster;
    cluster.handle().gates = GatesWithoutMatchLabelKeys();
    AddZones(cluster, {{"a", 2}, {"b", 0}});
    api::Service service;
    service.metadata.name = "web";
    service.metadata.ns = "default";
    service.selector = {{"app", "web"}};
    cluster.Put(service);
    const auto plugin = cluster.Make<PodTopologySpread>(c.args);
    const cluster::PodInfo pod = cluster.Prepare(c.pod);
    framework::ScratchPool scratch;
    framework::CycleState state;
    const framework::Attempt attempt(pod, cluster.nodes(), state, scratch);
    ASSERT_TRUE(plugin->PreFilter(attempt).status.ok()) << c.sentence;
    // The same labels with another owner, after a change of the services.
    service.metadata.resource_version = "2";
    cluster.Put(service);
    api::Pod other = c.pod;
    other.metadata.name = "other";
    other.metadata.controller = api::OwnerReference{"apps/v1", "ReplicaSet", "web", "u"};
    cluster.Evaluate(*plugin, other);
    framework::Rejections rejections;
    plugin->Filter(attempt, cluster.nodes().all(), rejections);
    RowSet rejected(cluster.nodes().rows());
    for (const auto& part : rejections.entries()) rejected |= part.rows;
    EXPECT_EQ(rejected.Count(), 1u) << c.sentence;
    EXPECT_TRUE(rejected.Has(cluster.RowOf("a"))) << c.sentence;
  }
}

TEST(PodTopologySpread, ArgumentErrorsAreThoseOfKubeScheduler) {
  const std::pair<const char*, const char*> cases[] = {
      {"{defaultingType: Lists}",
       "profiles[0].pluginConfig[0].args.defaultingType: Unsupported value: \"Lists\": supported values: "
       "\"System\", \"List\""},
      {"{defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}",
       "profiles[0].pluginConfig[0].args.defaultingType: Invalid value: \"System\": when .defaultConstraints "
       "are "
       "not empty"},
      {"{defaultingType: List, defaultConstraints: [{maxSkew: 0, whenUnsatisfiable: Maybe}]}",
       "[profiles[0].pluginConfig[0].args.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid "
       "range (0, "
       "inf), profiles[0].pluginConfig[0].args.defaultConstraints[0].topologyKey: Required value: can not be "
       "empty, "
       "profiles[0].pluginConfig[0].args.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "
       "\"Maybe\": "
       "supported values: \"DoNotSchedule\", \"ScheduleAnyway\"]"},
  };
  Cluster cluster;
  for (const auto& [args, text] : cases) {
    const auto made = cluster.TryMake<PodTopologySpread>(args);
    ASSERT_FALSE(made.has_value()) << args;
    EXPECT_EQ(made.error().message, text);
  }
}

}  // namespace
}  // namespace berth::plugins
