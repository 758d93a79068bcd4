#include "scheduler/plugins/inter_pod_affinity/inter_pod_affinity.hpp"

#include <gtest/gtest.h>

#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::Fits;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeScores;
using berth::testing::Unresolvable;
using berth::testing::Unschedulable;
using berth::testing::Verdicts;

constexpr const char* kAffinityZone = "topology.kubernetes.io/zone";
const auto kAffinityUnmet = Unresolvable({"node(s) didn't match pod affinity rules"});
const auto kAntiAffinityUnmet = Unschedulable({"node(s) didn't match pod anti-affinity rules"});
const auto kExistingAntiAffinity =
    Unschedulable({"node(s) didn't satisfy existing pods anti-affinity rules"});

api::PodAffinityTerm To(const std::string& app) {
  api::PodAffinityTerm term;
  term.label_selector.emplace().match_labels = {{"app", app}};
  term.topology_key = kAffinityZone;
  return term;
}
api::Pod App(const std::string& app) { return MakePod(app).Label("app", app); }
api::Pod With(api::Pod pod, std::initializer_list<api::PodAffinityTerm> terms) {
  pod.spec.pod_affinity.emplace().required = terms;
  return pod;
}
api::Pod Without(api::Pod pod, std::initializer_list<api::PodAffinityTerm> terms) {
  pod.spec.pod_anti_affinity.emplace().required = terms;
  return pod;
}
// Two nodes in zone a, one in b, one without a zone.
void AddNodes(Cluster& cluster) {
  cluster.Add(MakeNode("a1").Zone("a")).Add(MakeNode("a2").Zone("a")).Add(MakeNode("b").Zone("b"));
  cluster.Add(MakeNode("no-zone"));
}

TEST(InterPodAffinity, RequiredTermsOfThePodAndOfOthers) {
  struct Case {
    const char* sentence;
    std::vector<std::pair<const char*, api::Pod>> running;
    api::Pod pod;
    Verdicts expected;
  };
  const Verdicts anywhere{{"a1", Fits()}, {"a2", Fits()}, {"b", Fits()}, {"no-zone", Fits()}};
  api::PodAffinityTerm in_team = To("db");
  in_team.namespaces = {"team"};
  const Case cases[] = {
      {"no required terms", {{"a1", App("db")}}, App("web"), anywhere},
      {"where the others are",
       {{"a1", App("db")}},
       With(App("web"), {To("db")}),
       {{"a1", Fits()}, {"a2", Fits()}, {"b", kAffinityUnmet}, {"no-zone", kAffinityUnmet}}},
      {"one pod must match all terms",
       {{"a1", App("db")}, {"a1", App("cache")}},
       With(App("web"), {To("db"), To("cache")}),
       {{"a1", kAffinityUnmet}, {"a2", kAffinityUnmet}, {"b", kAffinityUnmet}, {"no-zone", kAffinityUnmet}}},
      {"the first of its kind may go where the labels are",
       {{"a1", App("db")}},
       With(App("web"), {To("web")}),
       {{"a1", Fits()}, {"a2", Fits()}, {"b", Fits()}, {"no-zone", kAffinityUnmet}}},
      {"away from others",
       {{"a1", App("db")}},
       Without(App("web"), {To("db")}),
       {{"a1", kAntiAffinityUnmet}, {"a2", kAntiAffinityUnmet}, {"b", Fits()}, {"no-zone", Fits()}}},
      {"anti-affinity of existing pods",
       {{"b", Without(App("db"), {To("web")})}},
       App("web"),
       {{"a1", Fits()}, {"a2", Fits()}, {"b", kExistingAntiAffinity}, {"no-zone", Fits()}}},
      {"a pod on a node without the label rejects no node",
       {{"no-zone", Without(App("db"), {To("web")})}},
       App("web"),
       anywhere},
      {"other namespaces only if they are named",
       {{"a1", App("db")}},
       Without(App("web"), {in_team}),
       anywhere},
  };
  for (const Case& c : cases) {
    Cluster cluster;
    AddNodes(cluster);
    for (const auto& [node, pod] : c.running) cluster.Run(node, pod);
    EXPECT_EQ(cluster.Evaluate(*cluster.Make<InterPodAffinity>(), c.pod), c.expected) << c.sentence;
  }
}

TEST(InterPodAffinity, NamespaceSelectorsMatchExistingNamespaces) {
  Cluster cluster;
  AddNodes(cluster);
  api::Pod other = App("db");
  other.metadata.ns = "team";
  cluster.Run("a1", other);
  api::PodAffinityTerm term = To("db");
  term.namespace_selector.emplace().match_expressions = {{"env", "DoesNotExist", {}}};
  const auto plugin = cluster.Make<InterPodAffinity>();
  const api::Pod pod = Without(App("web"), {term});
  EXPECT_EQ(cluster.Evaluate(*plugin, pod).at("a1"), Fits());
  api::Namespace team;
  team.metadata.name = "team";
  cluster.Put(team);
  EXPECT_EQ(cluster.Evaluate(*plugin, pod).at("a1"), kAntiAffinityUnmet);
  team.metadata.labels.Set("env", "dev");
  cluster.Put(team);
  EXPECT_EQ(cluster.Evaluate(*plugin, pod).at("a1"), Fits());
  // For terms of pods on nodes, a namespace that does not exist counts as one without labels.
  cluster.Run("b", Without(App("cache"), {[&] {
                             api::PodAffinityTerm everywhere = To("web");
                             everywhere.namespace_selector = term.namespace_selector;
                             return everywhere;
                           }()}));
  EXPECT_EQ(cluster.Evaluate(*plugin, App("web")).at("b"), kExistingAntiAffinity);
}

TEST(InterPodAffinity, AnInvalidTermIsUnresolvable) {
  Cluster cluster;
  AddNodes(cluster);
  api::PodAffinityTerm term;
  term.topology_key = kAffinityZone;
  term.label_selector.emplace().match_expressions = {{"app", "Near", {"x"}}};
  const auto answer = cluster.PreFilter(*cluster.Make<InterPodAffinity>(), With(App("web"), {term}));
  EXPECT_EQ(answer.status.code, framework::Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(answer.status.Message(),
            "parsing pod: requiredAffinityTerms: \"Near\" is not a valid label selector operator");
}

TEST(InterPodAffinity, PreferredTermsAreWeightedAndScaledFromZeroToMaximum) {
  Cluster cluster;
  cluster.Add(MakeNode("a").Zone("a")).Add(MakeNode("b").Zone("b")).Add(MakeNode("c").Zone("c"));
  cluster.Run("a", App("web")).Run("a", App("web")).Run("b", App("web"));
  api::Pod pod = App("new");
  pod.spec.pod_affinity.emplace().preferred.push_back({50, To("web")});
  const auto plugin = cluster.Make<InterPodAffinity>();
  EXPECT_EQ(cluster.Rate(*plugin, pod), (NodeScores{{"a", 100}, {"b", 50}, {"c", 0}}));
  // A required term of another pod has a small weight.
  cluster.Run("c", With(App("friend"), {To("new")}));
  EXPECT_EQ(cluster.Rate(*plugin, pod), (NodeScores{{"a", 100}, {"b", 49}, {"c", 0}}));
  // Without it and without preferred terms, PreScore returns Skip.
  EXPECT_EQ(cluster.Rate(*cluster.Make<InterPodAffinity>("{hardPodAffinityWeight: 0}"), App("new")),
            NodeScores{});
  EXPECT_EQ(
      cluster.Rate(*cluster.Make<InterPodAffinity>("{ignorePreferredTermsOfExistingPods: true}"), App("new")),
      NodeScores{});
}

TEST(InterPodAffinity, EqualSumsScoreZero) {
  Cluster cluster;
  cluster.Add(MakeNode("a").Zone("a")).Add(MakeNode("b").Zone("b"));
  cluster.Run("a", App("web")).Run("b", App("web"));
  api::Pod pod = App("new");
  pod.spec.pod_affinity.emplace().preferred.push_back({50, To("web")});
  EXPECT_EQ(cluster.Rate(*cluster.Make<InterPodAffinity>(), pod), (NodeScores{{"a", 0}, {"b", 0}}));
}

TEST(InterPodAffinity, ItsWeightMustBeBetween0And100) {
  Cluster cluster;
  const auto made = cluster.TryMake<InterPodAffinity>("{hardPodAffinityWeight: 101}");
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().message,
            "profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range "
            "[0, 100]");
}

}  // namespace
}  // namespace berth::plugins
