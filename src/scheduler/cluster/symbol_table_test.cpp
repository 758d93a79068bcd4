#include "scheduler/cluster/symbol_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "scheduler/cluster/cluster_state.hpp"
#include "scheduler/cluster/pod_selectors.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "testing/builders.hpp"

namespace berth::cluster {
namespace {

using namespace berth::testing;

api::PodAffinityTerm TermFor(std::string topology_key) {
  api::PodAffinityTerm term;
  term.topology_key = std::move(topology_key);
  return term;
}

// One pod per kind of symbol.
struct PodWithSymbols {
  std::string name;
  PodBuilder pod;
};
std::vector<PodWithSymbols> PodsWithSymbols() {
  std::vector<PodWithSymbols> pods{
      {"ARequest", MakePod().Request("example.com/a", "1")},
      {"ANodeSelector", MakePod().Selecting("key", "value")},
      {"ARequiredTerm", MakePod().Requiring({Term({{"key", "In", {"a", "b"}}})})},
      {"ATermWithoutValues", MakePod().Requiring({Term({{"key", "Exists", {}}})})},
      {"APreferredTerm", MakePod().Preferring(1, Term({{"key", "NotIn", {"a", "b"}}}))},
      {"ANodeName", MakePod().Requiring({Term({}, {{"metadata.name", "In", {"n7"}}})})},
      {"AnImage", MakePod().Image("image:7")},
      {"AHostAddress", MakePod().HostPort(80, "TCP", "10.0.0.7")},
      {"ATopologyKeyOfSpreading", MakePod()},
      {"ATopologyKeyOfAffinity", MakePod()},
      {"ATopologyKeyOfAntiAffinity", MakePod()},
  };
  api::TopologySpreadConstraint constraint;
  constraint.topology_key = "rack";
  constraint.when_unsatisfiable = "DoNotSchedule";
  pods[8].pod.raw().spec.topology_spread_constraints = {constraint};
  pods[9].pod.raw().spec.pod_affinity = api::PodAffinity{.required = {TermFor("rack")}, .preferred = {}};
  pods[10].pod.raw().spec.pod_anti_affinity =
      api::PodAffinity{.required = {}, .preferred = {{.weight = 1, .term = TermFor("room")}}};
  return pods;
}

class SymbolsOfPods : public ::testing::TestWithParam<PodWithSymbols> {};

TEST_P(SymbolsOfPods, AreRemovedAfterTheLastPodThatUsesThem) {
  SymbolTable symbols;
  const std::size_t before = symbols.size();
  PodBuilder builder = GetParam().pod;
  PodInfo first = PreparePod(builder, symbols);
  builder.Label("another", "shape");
  PodInfo second = PreparePod(builder, symbols);
  const std::size_t during = symbols.size();
  EXPECT_GT(during, before);
  first = {};
  symbols.ReleaseUnused();
  EXPECT_EQ(symbols.size(), during) << "the second pod uses them";
  second = {};
  symbols.ReleaseUnused();
  EXPECT_EQ(symbols.size(), before);
  EXPECT_FALSE(symbols.HasLeases());
}

TEST_P(SymbolsOfPods, AreRemovedAfterTheBoundPodIsDeleted) {
  SymbolTable symbols;
  ClusterState cluster(symbols);
  cluster.AddNode(MakeNode("n").Share());
  const std::size_t before = symbols.size();
  PodBuilder builder = GetParam().pod;
  cluster.AddPod(builder.OnNode("n").Uid("u").Share());
  cluster.RemovePod("u");
  cluster.ReleaseUnused();
  EXPECT_EQ(symbols.size(), before);
}

INSTANTIATE_TEST_SUITE_P(Table, SymbolsOfPods, ::testing::ValuesIn(PodsWithSymbols()),
                         [](const auto& row) { return row.param.name; });

TEST(SymbolTable, KeepsTheNameOfAMissingNodeWhileAPodIsBoundToIt) {
  SymbolTable symbols;
  ClusterState cluster(symbols);
  const std::size_t before = symbols.size();
  cluster.AddPod(MakePod().OnNode("missing").Uid("u").Share());
  cluster.ReleaseUnused();
  EXPECT_TRUE(symbols.node_names.Find("missing").known());
  cluster.AddNode(MakeNode("missing").Share());
  EXPECT_EQ(cluster.nodes().pods(cluster.nodes().Find("missing")).size(), 1U);
  cluster.AddPod(MakePod("p2").OnNode("other").Uid("v").Share());
  cluster.RemovePod("v");
  cluster.ReleaseUnused();
  EXPECT_EQ(symbols.size(), before + 1);
}

TEST(SymbolTable, ALabelThatANodeGetsKeepsItsIdAndIsPermanent) {
  SymbolTable symbols;
  NodeTable table(symbols);
  auto pod = std::make_unique<PodInfo>(PreparePod(MakePod().Selecting("disk", "ssd"), symbols));
  const LabelId label = pod->selection().selector.front();
  EXPECT_THAT(symbols.LabelsOf(symbols.FindKey("disk")), ::testing::IsEmpty()) << "no node has it";
  table.Add(MakeNode().Label("disk", "ssd").Share());
  pod.reset();
  symbols.ReleaseUnused();
  EXPECT_EQ(symbols.FindLabel(symbols.FindKey("disk"), "ssd"), label);
  EXPECT_THAT(symbols.LabelsOf(symbols.FindKey("disk")), ::testing::ElementsAre(label));
  ASSERT_NE(table.WithLabel(label), nullptr);
  EXPECT_TRUE(table.WithLabel(label)->Has(0));
}

TEST(SymbolTable, ARequestOfAReusedIdIsNotThatOfAnEarlierName) {
  SymbolTable symbols;
  auto pod = std::make_unique<PodInfo>(PreparePod(MakePod().Request("example.com/a", "1"), symbols));
  const ResourceId a = pod->fit().scalars.front().first;
  pod.reset();
  symbols.ReleaseUnused();
  const PodInfo next = PreparePod(MakePod().Request("hugepages-2Mi", "2Mi"), symbols);
  EXPECT_EQ(next.fit().scalars.front().first, a);
  EXPECT_EQ(symbols.ResourceName(a), "hugepages-2Mi");
  EXPECT_FALSE(symbols.IsExtended(a));
}

TEST(SymbolTable, AReusedLabelIdHasTheKeyAndNumberOfItsNewText) {
  SymbolTable symbols;
  auto pod = std::make_unique<PodInfo>(PreparePod(MakePod().Selecting("a", "7"), symbols));
  const LabelId label = pod->selection().selector.front();
  EXPECT_EQ(symbols.NumberOf(label), 7);
  pod.reset();
  symbols.ReleaseUnused();
  const PodInfo next = PreparePod(MakePod().Selecting("b", "x"), symbols);
  ASSERT_EQ(next.selection().selector.front(), label);
  EXPECT_EQ(symbols.NumberOf(label), std::nullopt);
  EXPECT_EQ(symbols.KeyText(symbols.KeyOf(label)), "b");
}

TEST(SymbolTable, ReleaseIsDueAfterManySymbolsWereLeased) {
  SymbolTable symbols;
  std::vector<std::string> values;
  for (int i = 0; i < 70000; ++i) values.push_back(std::to_string(i));
  EXPECT_FALSE(symbols.ReleaseIsDue());
  const PodInfo pod = PreparePod(MakePod().Requiring({Term({{"key", "In", values}})}), symbols);
  EXPECT_TRUE(symbols.ReleaseIsDue());
  symbols.ReleaseUnused();
  EXPECT_FALSE(symbols.ReleaseIsDue()) << "those in use do not count again";
}

// The texts of a compiled node selector.
std::vector<std::string> Texts(const PodInfo& pod, const SymbolTable& symbols) {
  std::vector<std::string> texts;
  for (const LabelId label : pod.selection().selector) {
    const LabelKeyId key = symbols.KeyOf(label);
    texts.push_back(symbols.KeyText(key) + "=" + std::to_string(symbols.NumberOf(label).value_or(-1)));
  }
  for (const auto& [resource, amount] : pod.use().requested.scalars)
    texts.push_back(symbols.ResourceName(resource));
  return texts;
}

TEST(SymbolTable, SymbolsOfLivingPodsKeepTheirTextsWhileOthersComeAndGo) {
  SymbolTable symbols;
  NodeTable table(symbols);
  Random random(11);
  struct Living {
    PodInfo pod;
    std::vector<std::string> texts;
  };
  std::map<std::uint64_t, Living> living;
  for (int step = 0; step < 5000; ++step) {
    const std::uint64_t slot = random.Below(40);
    const std::string number = std::to_string(random.Below(200));
    switch (random.Below(5)) {
      case 0:
        living.erase(slot);
        break;
      case 1:
        symbols.ReleaseUnused();
        break;
      case 2:
        if (random.Below(50) == 0)
          table.Add(MakeNode("n" + std::to_string(step)).Label("key" + number, number).Share());
        break;
      default: {
        const std::string resource = "example.com/" + number;
        PodInfo pod = PreparePod(MakePod().Selecting("key" + number, number).Request(resource, "1"), symbols);
        living.insert_or_assign(slot, Living{std::move(pod), {"key" + number + "=" + number, resource}});
      }
    }
    for (const auto& [at, known] : living) ASSERT_EQ(Texts(known.pod, symbols), known.texts) << step;
  }
  living.clear();
  symbols.ReleaseUnused();
  EXPECT_FALSE(symbols.HasLeases());
}

TEST(SymbolTable, AnotherKeyThatGetsTheIdOfARemovedOneHasNoneOfItsLabels) {
  SymbolTable symbols;
  PodInfo pod = PreparePod(MakePod().Selecting("before", "a"), symbols);
  const LabelKeyId key = symbols.FindKey("before");
  pod = {};
  symbols.ReleaseUnused();
  pod = PreparePod(MakePod().Selecting("after", "b"), symbols);
  ASSERT_EQ(symbols.FindKey("after"), key);
  EXPECT_TRUE(symbols.FindLabel(key, "b").known());
  EXPECT_FALSE(symbols.FindLabel(key, "a").known());
}

}  // namespace
}  // namespace berth::cluster
