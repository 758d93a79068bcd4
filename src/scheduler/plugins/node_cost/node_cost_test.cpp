#include "scheduler/plugins/node_cost/node_cost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeBuilder;
using berth::testing::NodeScores;
using ::testing::HasSubstr;

constexpr auto kPrice = "example.com/price";
constexpr auto kType = "node.kubernetes.io/instance-type";

NodeBuilder PricedNode(const std::string& name, const std::string& price) {
  return MakeNode(name).Label(kPrice, price);
}

TEST(NodeCost, CheaperNodesScoreHigherInProportionToTheMostExpensiveOne) {
  const struct {
    std::string name, args;
    std::vector<api::Node> nodes;
    NodeScores scores;
  } cases[] = {
      {"prices in a label",
       "priceLabel: example.com/price",
       {PricedNode("a", "0.4"), PricedNode("b", "0.1"), PricedNode("c", "0")},
       {{"a", 0}, {"b", 75}, {"c", 100}}},
      {"prices by instance type",
       "prices: [{label: node.kubernetes.io/instance-type, values: {small: 1, large: '4'}}]",
       {MakeNode("a").Label(kType, "large"), MakeNode("b").Label(kType, "small")},
       {{"a", 0}, {"b", 75}}},
      {"the price label wins over the instance type",
       "priceLabel: example.com/price, prices: [{label: node.kubernetes.io/instance-type, values: {small: "
       "1}}]",
       {MakeNode("a").Label(kType, "small"), PricedNode("b", "2").Label(kType, "small")},
       {{"a", 50}, {"b", 0}}},
      {"the first list that knows the node counts",
       "prices: [{label: node.kubernetes.io/instance-type, values: {small: 1}}, {label: zone, values: {z: "
       "4}}]",
       {MakeNode("a").Label(kType, "small").Label("zone", "z"), MakeNode("b").Label("zone", "z")},
       {{"a", 75}, {"b", 0}}},
      {"factors multiply the price",
       "priceLabel: example.com/price, factors: [{label: capacity, values: {spot: 0.25}}]",
       {PricedNode("a", "4"), PricedNode("b", "4").Label("capacity", "spot")},
       {{"a", 0}, {"b", 75}}},
      {"a node without a price has the median price",
       "priceLabel: example.com/price",
       {PricedNode("a", "4"), PricedNode("b", "2"), PricedNode("c", "1"), MakeNode("d")},
       {{"a", 0}, {"b", 50}, {"c", 75}, {"d", 50}}},
      {"and so has a node with an invalid one",
       "priceLabel: example.com/price",
       {PricedNode("a", "4"), PricedNode("b", "2"), PricedNode("c", "1"), PricedNode("d", "-1"),
        PricedNode("e", "nan"), PricedNode("f", "1e99"), PricedNode("g", "2EUR")},
       {{"a", 0}, {"b", 50}, {"c", 75}, {"d", 50}, {"e", 50}, {"f", 50}, {"g", 50}}},
      {"without any price all nodes are equal",
       "priceLabel: example.com/price",
       {MakeNode("a"), MakeNode("b")},
       {{"a", 100}, {"b", 100}}},
      {"per core",
       "priceLabel: example.com/price, per: cpu",
       {PricedNode("a", "4").Cpu("4"), PricedNode("b", "8").Cpu("16")},
       {{"a", 0}, {"b", 50}}},
      {"per GiB",
       "priceLabel: example.com/price, per: memory",
       {PricedNode("a", "4").Memory("4Gi"), PricedNode("b", "8").Memory("16Gi")},
       {{"a", 0}, {"b", 50}}},
      {"a node without the resource counts as one unit",
       "priceLabel: example.com/price, per: cpu",
       {PricedNode("a", "4"), PricedNode("b", "4").Cpu("2")},
       {{"a", 0}, {"b", 50}}},
  };
  for (const auto& row : cases) {
    Cluster cluster;
    for (const api::Node& node : row.nodes) cluster.Add(node);
    EXPECT_EQ(cluster.Scores(*cluster.Make<NodeCost>("{" + row.args + "}"), MakePod()), row.scores)
        << row.name;
  }
}

TEST(NodeCost, FreeCoresCountWithoutTheRequestedOnesButAtLeastATenth) {
  Cluster cluster;
  cluster.Add(PricedNode("a", "8").Cpu("10")).Add(PricedNode("b", "8").Cpu("10"));
  const auto plugin = cluster.Make<NodeCost>("{priceLabel: example.com/price, per: cpu, amount: free}");
  EXPECT_EQ(cluster.Scores(*plugin, MakePod()), (NodeScores{{"a", 0}, {"b", 0}}));
  cluster.Run("a", MakePod("half").Cpu("5"));
  EXPECT_EQ(cluster.Scores(*plugin, MakePod()), (NodeScores{{"a", 0}, {"b", 50}}));
  cluster.Run("a", MakePod("rest").Cpu("5"));
  EXPECT_EQ(cluster.Scores(*plugin, MakePod()), (NodeScores{{"a", 0}, {"b", 90}}));
}

TEST(NodeCost, ChangedLabelsChangeThePrice) {
  Cluster cluster;
  cluster.Add(PricedNode("a", "4")).Add(PricedNode("b", "2"));
  const auto plugin = cluster.Make<NodeCost>("{priceLabel: example.com/price}");
  EXPECT_EQ(cluster.Scores(*plugin, MakePod()).at("b"), 50);
  cluster.nodes().Update(cluster.RowOf("b"), PricedNode("b", "1").Share());
  EXPECT_EQ(cluster.Scores(*plugin, MakePod()).at("b"), 75);
}

TEST(NodeCost, TheMetricCountsNodesByTheStateOfTheirPrice) {
  Cluster cluster;
  metrics::Registry registry;
  cluster.handle().metrics = &registry;
  cluster.Add(PricedNode("a", "4")).Add(PricedNode("b", "x")).Add(MakeNode("c")).Add(MakeNode("d"));
  const auto plugin = cluster.Make<NodeCost>("{priceLabel: example.com/price}");
  cluster.Scores(*plugin, MakePod());
  const std::string text = registry.Expose();
  EXPECT_THAT(text, HasSubstr("berth_node_cost_nodes{state=\"priced\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("berth_node_cost_nodes{state=\"invalid\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("berth_node_cost_nodes{state=\"unpriced\"} 2\n"));
}

TEST(NodeCostArgs, InvalidArgumentsAreErrors) {
  const struct {
    std::string text, error;
  } cases[] = {
      {"{}", "args.priceLabel: Required value: priceLabel or prices must be given"},
      {"{priceLabel: 'a b'}", "args.priceLabel: Invalid value: \"a b\""},
      {"{prices: [{label: t}]}", "args.prices[0].values: Required value"},
      {"{prices: [{values: {a: 1}}]}", "args.prices[0].label: Invalid value: \"\""},
      {"{prices: [{label: t, values: {a: -1}}]}", "prices[0].values.a: Invalid value: \"-1\""},
      {"{prices: [{label: t, values: {a: cheap}}]}", "prices[0].values.a: Invalid value: \"cheap\""},
      {"{prices: [{label: t, values: {a: 1}}, {label: t, values: {b: 1}}]}",
       "args.prices[1].label: Duplicate value: \"t\""},
      {"{priceLabel: p, factors: [{label: t, values: {a: 1e10}}]}", "factors[0].values.a: Invalid value"},
      {"{priceLabel: p, per: disk}", "per: Unsupported value: \"disk\""},
      {"{priceLabel: p, amount: used}", "amount: Unsupported value: \"used\""},
      {"{priceLabel: p, amount: free}", "args.amount: Forbidden"},
      {"{priceLabel: p, price: 3}", "unknown field \"price\""},
  };
  for (const auto& [text, error] : cases) {
    const auto value = yaml::ParseValue(text);
    const auto args = ParseNodeCostArgs({&*value, "args"});
    ASSERT_FALSE(args) << text;
    EXPECT_THAT(args.error().message, HasSubstr(error)) << text;
  }
}

}  // namespace
}  // namespace berth::plugins
