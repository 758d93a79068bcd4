#include "scheduler/plugins/capacity_scheduling/quota_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace berth::plugins {
namespace {

// One resource. The name of the parent is empty below the root; parents come before their children.
struct TreeRow {
  std::string name, parent;
  std::int64_t min = 0, max = 0, request = 0;
  std::int64_t weight = -1;  // -1: the maximum
  bool lends = true;
  std::int64_t runtime = 0;  // expected
};
struct TreeCase {
  std::string name;
  std::int64_t total = 0;
  std::vector<TreeRow> rows;
};

std::map<std::string, QuotaTree::Id> AddAll(QuotaTree& tree, const std::vector<TreeRow>& rows) {
  std::map<std::string, QuotaTree::Id> ids = {{"", QuotaTree::kRoot}};
  for (const TreeRow& row : rows) {
    ids[row.name] = tree.Add(ids.at(row.parent), {.min = {row.min},
                                                  .max = {row.max},
                                                  .weight = {row.weight < 0 ? row.max : row.weight},
                                                  .lends = row.lends});
    tree.AddRequest(ids[row.name], 0, row.request);
  }
  return ids;
}

class RuntimeQuota : public ::testing::TestWithParam<TreeCase> {};
TEST_P(RuntimeQuota, IsSharedByTheRules) {
  QuotaTree tree(1);
  tree.SetTotal(0, GetParam().total);
  const auto ids = AddAll(tree, GetParam().rows);
  for (const TreeRow& row : GetParam().rows)
    EXPECT_EQ(tree.Runtime(ids.at(row.name))[0], row.runtime) << row.name;
}
INSTANTIATE_TEST_SUITE_P(
    Table, RuntimeQuota,
    ::testing::Values(
        // "Calculate RuntimeQuota": first 14, 12 and 19 of 45; then 3 and 6 of the 9 that B returns.
        TreeCase{"TheExampleOfTheProposal",
                 100,
                 {{"A", "", 10, 40, 5, -1, true, 5},
                  {"B", "", 15, 60, 20, -1, true, 20},
                  {"C", "", 20, 50, 40, -1, true, 35},
                  {"D", "", 15, 80, 70, -1, true, 40}}},
        // "Hierarchy": the parents request 20 and 110.
        TreeCase{"TheTreeOfTheProposal",
                 100,
                 {{"A", "", 20, 100, 0, -1, true, 20},
                  {"B", "", 80, 100, 0, -1, true, 80},
                  {"A-1", "A", 10, 10, 100, -1, true, 10},
                  {"A-2", "A", 10, 10, 100, -1, true, 10},
                  {"B-1", "B", 20, 40, 100, -1, true, 27},
                  {"B-2", "B", 40, 70, 100, -1, true, 53}}},
        // "Min Guarantee": first A alone, then both.
        TreeCase{"WhatOthersDoNotRequestIsLent",
                 100,
                 {{"A", "", 50, 100, 100, -1, true, 100}, {"B", "", 50, 100, 0, -1, true, 0}}},
        TreeCase{"WhatOthersRequestIsReturned",
                 100,
                 {{"A", "", 50, 100, 100, -1, true, 50}, {"B", "", 50, 100, 100, -1, true, 50}}},
        TreeCase{"AGroupThatDoesNotLendKeepsItsMinimum",
                 100,
                 {{"A", "", 50, 100, 100, -1, true, 60}, {"B", "", 40, 100, 10, -1, false, 40}}},
        // 100 * 80 / 160 and 100 * 40 / 160.
        TreeCase{"MinimumsBeyondTheTotalAreScaled",
                 100,
                 {{"A", "", 80, 100, 100, -1, true, 50},
                  {"B", "", 40, 100, 100, -1, true, 25},
                  {"C", "", 40, 100, 100, -1, true, 25}}},
        // 10 * 1 / 3 is rounded down; the unit that is left goes to the first of equal remainders.
        TreeCase{"ScaledMinimumsAreRoundedDown",
                 10,
                 {{"A", "", 10, 10, 10, -1, true, 4},
                  {"B", "", 10, 10, 10, -1, true, 3},
                  {"C", "", 10, 10, 10, -1, true, 3}}},
        // Minimums 50 and 50. B requests 10 of its minimum; the other 40 go to A, whose request is reached.
        TreeCase{"WhatAScaledMinimumDoesNotNeedIsShared",
                 100,
                 {{"A", "", 80, 100, 90, -1, true, 90}, {"B", "", 80, 100, 10, -1, true, 10}}},
        TreeCase{"TheWeightDecidesBeyondTheMinimum",
                 100,
                 {{"A", "", 10, 100, 100, 3, true, 70}, {"B", "", 10, 100, 100, 1, true, 30}}},
        TreeCase{"WithoutWeightNothingIsBorrowed",
                 100,
                 {{"A", "", 10, 100, 100, 0, true, 10}, {"B", "", 10, 100, 100, 0, true, 10}}},
        TreeCase{"TheMaximumLimits", 100, {{"A", "", 10, 30, 100, -1, true, 30}}},
        // The parent requests 30, so its children share 30 although more is free.
        TreeCase{"TheMaximumOfTheParentLimitsItsChildren",
                 100,
                 {{"P", "", 0, 30, 0, -1, true, 30},
                  {"P-1", "P", 0, 100, 100, -1, true, 15},
                  {"P-2", "P", 0, 100, 100, -1, true, 15}}},
        TreeCase{"PodsOfAParentRequestToo",
                 100,
                 {{"P", "", 0, 100, 20, -1, true, 50},
                  {"P-1", "P", 0, 30, 100, -1, true, 30},
                  {"Q", "", 0, 100, 100, -1, true, 50}}},
        TreeCase{"WithoutRequestsNothingIsShared", 100, {{"A", "", 10, 40, 0, -1, true, 0}}},
        TreeCase{"WithoutResourcesNothingIsShared", 0, {{"A", "", 10, 40, 20, -1, true, 0}}},
        TreeCase{"ANegativeTotalIsNothing", -5, {{"A", "", 10, 40, 20, -1, true, 0}}},
        // Products do not fit into 64 bits.
        TreeCase{"HugeAmountsAreExact",
                 INT64_MAX,
                 {{"A", "", 0, INT64_MAX, INT64_MAX, -1, true, INT64_MAX / 2 + 1},
                  {"B", "", 0, INT64_MAX, INT64_MAX, -1, true, INT64_MAX / 2}}}),
    [](const auto& row) { return row.param.name; });

TEST(QuotaTree, ResourcesAreIndependent) {
  QuotaTree tree(2);
  tree.SetTotal(0, 10);
  tree.SetTotal(1, 100);
  const auto id = tree.Add(QuotaTree::kRoot, {.min = {1, 1}, .max = {8, 90}, .weight = {1, 1}});
  tree.AddRequest(id, 0, 20);
  tree.AddRequest(id, 1, 30);
  EXPECT_EQ(tree.Runtime(id)[0], 8);
  EXPECT_EQ(tree.Runtime(id)[1], 30);
  EXPECT_EQ(tree.LimitedRequest(id, 0), 8);
}

TEST(QuotaTree, ReportsTheRuntimesThatChanged) {
  QuotaTree tree(1);
  tree.SetTotal(0, 100);
  const auto ids = AddAll(tree, {{"A", "", 50, 100, 100}, {"B", "", 50, 100, 0}});
  (void)tree.Runtime(ids.at("A"));
  std::map<QuotaTree::Id, std::int64_t> changed;
  const auto keep = [&](QuotaTree::Id id, std::size_t, std::int64_t runtime) { changed[id] = runtime; };
  tree.TakeChanged(keep);
  EXPECT_EQ(changed, (std::map<QuotaTree::Id, std::int64_t>{{ids.at("A"), 100}}));
  changed.clear();
  tree.AddRequest(ids.at("B"), 0, 200);
  (void)tree.Runtime(ids.at("B"));
  tree.TakeChanged(keep);
  EXPECT_EQ(changed, (std::map<QuotaTree::Id, std::int64_t>{{ids.at("A"), 50}, {ids.at("B"), 50}}));
}

// --- random trees ---

struct RandomTree {
  std::vector<QuotaTree::Id> parents;
  std::vector<QuotaTree::Group> groups;
  std::vector<std::vector<std::int64_t>> requests;
  std::vector<std::int64_t> totals;

  QuotaTree Build() const {
    QuotaTree tree(totals.size());
    for (std::size_t i = 0; i < parents.size(); ++i) tree.Add(parents[i], groups[i]);
    for (std::size_t r = 0; r < totals.size(); ++r) {
      tree.SetTotal(r, totals[r]);
      for (std::size_t i = 0; i < parents.size(); ++i)
        tree.AddRequest(static_cast<QuotaTree::Id>(i + 1), r, requests[i][r]);
    }
    return tree;
  }
};

RandomTree MakeRandomTree(std::mt19937& rng) {
  const auto below = [&](std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end)(rng);
  };
  RandomTree random;
  const auto resources = static_cast<std::size_t>(1 + below(2));
  for (std::size_t r = 0; r < resources; ++r) random.totals.push_back(below(200));
  const std::int64_t groups = 1 + below(11);
  for (std::int64_t i = 0; i < groups; ++i) {
    random.parents.push_back(static_cast<QuotaTree::Id>(below(i)));
    QuotaTree::Group& group = random.groups.emplace_back();
    random.requests.emplace_back();
    for (std::size_t r = 0; r < resources; ++r) {
      group.max.push_back(below(100));
      group.min.push_back(below(group.max.back()));
      group.weight.push_back(below(9));
      random.requests.back().push_back(below(120));
    }
    group.lends = below(3) != 0;
  }
  return random;
}

std::vector<std::vector<std::int64_t>> RuntimesOf(QuotaTree& tree) {
  std::vector<std::vector<std::int64_t>> runtimes;
  for (QuotaTree::Id id = 0; id < tree.size(); ++id) {
    const auto runtime = tree.Runtime(id);
    runtimes.emplace_back(runtime.begin(), runtime.end());
  }
  return runtimes;
}

TEST(QuotaTreeProperty, SharesAddUpAndKeepTheLimits) {
  std::mt19937 rng(1);
  for (int round = 0; round < 3000; ++round) {
    const RandomTree random = MakeRandomTree(rng);
    QuotaTree tree = random.Build();
    const auto runtimes = RuntimesOf(tree);
    for (std::size_t r = 0; r < random.totals.size(); ++r) {
      for (QuotaTree::Id parent = 0; parent < tree.size(); ++parent) {
        std::int64_t sum = 0, minimums = 0;
        bool hungry = false;  // a child with a weight whose limited request is not reached
        for (QuotaTree::Id id = 1; id < tree.size(); ++id) {
          if (tree.parent(id) != parent) continue;
          sum += runtimes[id][r];
          minimums += tree.group(id).min[r];
          hungry |= tree.group(id).weight[r] > 0 && runtimes[id][r] < tree.LimitedRequest(id, r);
        }
        const std::int64_t all = runtimes[parent][r];
        ASSERT_LE(sum, all) << "round " << round;
        // Nothing stays unused that a child could use.
        ASSERT_TRUE(!hungry || sum == all) << "round " << round;
        for (QuotaTree::Id id = 1; id < tree.size(); ++id) {
          if (tree.parent(id) != parent) continue;
          const QuotaTree::Group& group = tree.group(id);
          const std::int64_t min = minimums > all ? all * group.min[r] / minimums : group.min[r];
          ASSERT_LE(runtimes[id][r], group.max[r]) << "round " << round;
          ASSERT_GE(runtimes[id][r], std::min(min, tree.LimitedRequest(id, r))) << "round " << round;
          ASSERT_LE(runtimes[id][r], std::max(min, tree.LimitedRequest(id, r))) << "round " << round;
        }
      }
    }
    // Without changes the result is stable.
    ASSERT_EQ(RuntimesOf(tree), runtimes) << "round " << round;
  }
}

TEST(QuotaTreeProperty, ChangesGiveTheRuntimesOfANewTree) {
  std::mt19937 rng(2);
  const auto below = [&](std::size_t end) {
    return static_cast<std::size_t>(std::uniform_int_distribution<std::size_t>(0, end - 1)(rng));
  };
  for (int round = 0; round < 300; ++round) {
    RandomTree random = MakeRandomTree(rng);
    QuotaTree tree = random.Build();
    for (int step = 0; step < 30; ++step) {
      const std::size_t r = below(random.totals.size());
      if (below(4) == 0) {
        random.totals[r] = static_cast<std::int64_t>(below(200));
        tree.SetTotal(r, random.totals[r]);
      } else {
        const std::size_t group = below(random.parents.size());
        const auto request = static_cast<std::int64_t>(below(120));
        tree.AddRequest(static_cast<QuotaTree::Id>(group + 1), r, request - random.requests[group][r]);
        random.requests[group][r] = request;
      }
      // Only the path to one group is updated in between.
      const auto id = static_cast<QuotaTree::Id>(below(random.parents.size()) + 1);
      QuotaTree fresh = random.Build();
      const auto updated = tree.Runtime(id), expected = fresh.Runtime(id);
      ASSERT_TRUE(std::ranges::equal(updated, expected)) << "round " << round << " step " << step;
    }
  }
}

}  // namespace
}  // namespace berth::plugins
