#include "scheduler/plugins/node_resources/resource_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "base/reciprocal.hpp"
#include "base/wrap.hpp"
#include "scheduler/plugins/node_resources/balanced_allocation.hpp"
#include "scheduler/plugins/node_resources/node_resources_fit.hpp"
#include "testing/cluster.hpp"
#include "testing/vector_levels.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::RunnableLevels;

// --- kube-scheduler's arithmetic, row by row ---

std::int64_t Percentage(std::int64_t part, std::int64_t whole) { return WrapDiv(WrapMul(part, 100), whole); }

std::int64_t Share(Allocation strategy, std::int64_t requested, std::int64_t capacity) {
  if (strategy == Allocation::kMost) return Percentage(std::min(requested, capacity), capacity);
  return requested > capacity ? 0 : Percentage(WrapSub(capacity, requested), capacity);
}

std::int64_t MeanShare(Allocation strategy, std::span<const ResourceAxis> axes, std::size_t row) {
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  for (const ResourceAxis& axis : axes) {
    if (axis.capacity[row] == 0) continue;
    sum += Share(strategy, WrapAdd(axis.used[row], axis.request), axis.capacity[row]) * axis.weight;
    weights += axis.weight;
  }
  return weights == 0 ? 0 : sum / weights;
}

double Fraction(std::int64_t used, std::int64_t capacity) {
  return std::min(static_cast<double>(used) / static_cast<double>(capacity), 1.0);
}

std::int64_t Evenness(double a, double b) {
  return static_cast<std::int64_t>((1 - std::abs((a - b) / 2)) * 100.0);
}

std::int64_t BalanceOf(const ResourceAxis& a, const ResourceAxis& b, std::size_t row) {
  if (a.capacity[row] == 0 || b.capacity[row] == 0) return 75;
  const std::int64_t with_pod = Evenness(Fraction(WrapAdd(a.used[row], a.request), a.capacity[row]),
                                         Fraction(WrapAdd(b.used[row], b.request), b.capacity[row]));
  const std::int64_t without =
      Evenness(Fraction(a.used[row], a.capacity[row]), Fraction(b.used[row], b.capacity[row]));
  return 50 + (50 + with_pod - without) / 2;
}

// --- random columns ---

// Below 2^`bits`, of every magnitude, often a round number or close to it.
std::int64_t Number(Random& random, unsigned bits) {
  const std::uint64_t any = random.Next() >> (64 - bits) >> random.Below(bits);
  if (random.Below(4) != 0) return static_cast<std::int64_t>(any);
  const std::uint64_t round = std::uint64_t{1} << random.Below(bits);
  return static_cast<std::int64_t>(round - random.Below(2));
}

// The distribution of a resource on nodes: magnitude, and frequency of invalid values.
struct Manner {
  unsigned bits = 40;
  std::uint64_t absurd_per_mille = 0;
  std::uint64_t zero_per_mille = 50;
};

struct Columns {
  std::vector<std::int64_t> capacity, used;
  std::vector<double> inverse;  // empty every other time
  std::int64_t request = 0;

  Columns(std::size_t rows, const Manner& manner, Random& random)
      : request(Number(random, std::min(manner.bits, 40u))) {
    for (std::size_t row = 0; row < rows; ++row) {
      std::int64_t whole = random.Below(1000) < manner.zero_per_mille ? 0 : Number(random, manner.bits);
      std::int64_t taken = 0;
      switch (random.Below(4)) {
        case 0:  // used up to a round percentage, or nearly
          taken = whole / 100 * static_cast<std::int64_t>(random.Below(101)) +
                  static_cast<std::int64_t>(random.Below(3)) - request;
          break;
        case 1:  // over-committed
          taken = whole + Number(random, manner.bits - 1);
          break;
        default:
          taken = static_cast<std::int64_t>(random.Unit() * static_cast<double>(whole));
      }
      if (taken < 0) taken = 0;
      if (random.Below(1000) < manner.absurd_per_mille) whole = static_cast<std::int64_t>(random.Next());
      if (random.Below(1000) < manner.absurd_per_mille) taken = static_cast<std::int64_t>(random.Next());
      capacity.push_back(whole);
      used.push_back(taken);
    }
    if (random.Below(2) == 0) return;
    for (const std::int64_t whole : capacity) inverse.push_back(SmallInverse(whole));
  }
  ResourceAxis Axis(std::int64_t weight = 1) const { return {capacity, inverse, used, request, weight}; }
};

Manner RandomManner(Random& random) {
  const unsigned bits[] = {10, 20, 40, 44, 45, 49, 50, 51, 62};
  return {.bits = bits[random.Below(9)],
          .absurd_per_mille = random.Below(3) == 0 ? 5u : 0u,
          .zero_per_mille = random.Below(2) == 0 ? 50u : 0u};
}

// Many rows, or so few that they are evaluated one by one.
RowSet RandomRows(std::size_t rows, Random& random) {
  RowSet set(rows);
  const bool few = random.Below(2) == 0;
  const std::uint64_t share = few ? 1 : random.Below(5);
  for (std::size_t row = 0; row < rows; ++row) {
    if (random.Below(few ? 30 : 4) < share) set.Add(row);
  }
  return set;
}

std::size_t RandomSize(Random& random) {
  return random.Below(2) == 0 ? 1 + random.Below(200) : 64 * (1 + random.Below(3));
}

bool AllBelow(std::span<const ResourceAxis> axes, std::size_t row, int bits) {
  const auto below = [&](std::int64_t value) { return value >= 0 && value >> bits == 0; };
  return std::ranges::all_of(axes, [&](const ResourceAxis& axis) {
    return below(axis.capacity[row]) && below(axis.used[row]) && below(WrapAdd(axis.used[row], axis.request));
  });
}

// --- the kernels ---

TEST(ResourceKernels, InsufficientRowsEqualAPlainComparison) {
  Random random(1);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t rows = RandomSize(random);
    const Columns columns(rows, RandomManner(random), random);
    const RowSet candidates = RandomRows(rows, random);
    RowSet lacking(rows), never(rows), crowded(rows);
    candidates.ForEach([&](std::size_t row) {
      if (columns.request > WrapSub(columns.capacity[row], columns.used[row])) {
        lacking.Add(row);
        if (columns.request > columns.capacity[row]) never.Add(row);
      }
      if (columns.used[row] >= columns.capacity[row]) crowded.Add(row);
    });
    for (const VectorLevel level : RunnableLevels()) {
      RowSet out(rows), out_never(rows), out_crowded(rows);
      AddInsufficient(columns.request, columns.capacity, columns.used, candidates, out, out_never, level);
      AddCrowded(columns.used, columns.capacity, candidates, out_crowded, level);
      ASSERT_EQ(out, lacking) << round;
      ASSERT_EQ(out_never, never) << round;
      ASSERT_EQ(out_crowded, crowded) << round;
    }
  }
}

TEST(ResourceKernels, AllocationScoresEqualIntegerDivision) {
  Random random(2);
  std::size_t fast = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::size_t rows = RandomSize(random);
    const RowSet feasible = RandomRows(rows, random);
    const Manner manner = RandomManner(random);
    std::vector<Columns> columns;
    for (std::uint64_t i = random.Below(4); i < 4; ++i) columns.emplace_back(rows, manner, random);
    std::vector<ResourceAxis> axes;
    const std::int64_t equal = 1 + static_cast<std::int64_t>(random.Below(2) * random.Below(100));
    const bool differ = random.Below(2) == 0;
    for (const Columns& of_one : columns)
      axes.push_back(of_one.Axis(differ ? 1 + static_cast<std::int64_t>(random.Below(100)) : equal));
    for (const VectorLevel level : RunnableLevels()) {
      for (const Allocation strategy : {Allocation::kLeast, Allocation::kMost}) {
        std::vector<std::uint8_t> out(rows);
        RowSet left(rows);
        ScoreAllocation(strategy, axes, feasible, out, left, level);
        feasible.ForEach([&](std::size_t row) {
          if (left.Has(row)) return;
          ++fast;
          ASSERT_EQ(out[row], MeanShare(strategy, axes, row)) << round << " row " << row;
          ASSERT_TRUE(AllBelow(axes, row, 44)) << round << " row " << row;
        });
      }
    }
  }
  EXPECT_GT(fast, 100'000u);
}

TEST(ResourceKernels, BalanceEqualsTheRoundedSteps) {
  Random random(3);
  std::size_t fast = 0;
  for (int round = 0; round < 5000; ++round) {
    const std::size_t rows = RandomSize(random);
    const RowSet feasible = RandomRows(rows, random);
    const Manner manner = RandomManner(random);
    const Columns a(rows, manner, random);
    const Columns b(rows, manner, random);
    for (const VectorLevel level : RunnableLevels()) {
      std::vector<std::uint8_t> out(rows);
      RowSet left(rows);
      ScoreBalance(a.Axis(), b.Axis(), feasible, out, left, level);
      feasible.ForEach([&](std::size_t row) {
        if (left.Has(row)) return;
        ++fast;
        ASSERT_EQ(out[row], BalanceOf(a.Axis(), b.Axis(), row)) << round << " row " << row;
      });
    }
  }
  EXPECT_GT(fast, 100'000u);
}

TEST(ResourceKernels, OnlyBlocksWithLargeNumbersAreReturned) {
  std::vector<std::int64_t> capacity(130, 1 << 20);
  const std::vector<std::int64_t> used(130, 1 << 10);
  capacity[70] = std::int64_t{1} << 44;
  const ResourceAxis axis{capacity, {}, used, 5, 1};
  RowSet feasible(130);
  for (std::size_t row = 0; row < 130; row += 2) feasible.Add(row);
  for (const VectorLevel level : RunnableLevels()) {
    std::vector<std::uint8_t> out(130);
    RowSet left(130);
    ScoreBalance(axis, axis, feasible, out, left, level);
    EXPECT_TRUE(left.Empty());
    ScoreAllocation(Allocation::kLeast, {&axis, 1}, feasible, out, left, level);
    EXPECT_EQ(left.Count(), 32u);
    EXPECT_EQ(left.First(), 64u);
  }
}

// --- the plugins: returned rows are computed by the general form ---

void AddNodes(const Columns& cpu, const Columns& memory, Cluster& cluster) {
  for (std::size_t row = 0; row < cpu.capacity.size(); ++row) {
    const std::string name = "n" + std::to_string(row);
    api::Node node = MakeNode(name);
    node.allocatable = {{"cpu", api::Quantity::FromMilli(cpu.capacity[row])},
                        {"memory", api::Quantity::FromInteger(memory.capacity[row])},
                        {"pods", api::Quantity::FromInteger(110)}};
    cluster.Add(node);
    api::Pod there = MakePod("on-" + name);
    there.spec.containers.resize(1);
    there.spec.containers.front().resources.requests = {
        {"cpu", api::Quantity::FromMilli(cpu.used[row])},
        {"memory", api::Quantity::FromInteger(memory.used[row])}};
    cluster.Run(name, there);
  }
}

TEST(ResourceScores, EqualKubeSchedulersOnNodesOfAnySize) {
  Random random(4);
  for (int round = 0; round < 60; ++round) {
    Manner manner = RandomManner(random);
    manner.absurd_per_mille = 0;
    const Columns cpu(150, {.bits = 20}, random);
    const Columns memory(150, manner, random);
    Cluster cluster;
    AddNodes(cpu, memory, cluster);
    api::Pod pod = MakePod("p");
    pod.spec.containers.resize(1);
    pod.spec.containers.front().resources.requests = {
        {"cpu", api::Quantity::FromMilli(std::max<std::int64_t>(cpu.request, 1))},
        {"memory", api::Quantity::FromInteger(std::max<std::int64_t>(memory.request, 1))}};
    const auto& nodes = cluster.nodes();
    const std::int64_t milli = std::max<std::int64_t>(cpu.request, 1);
    const std::int64_t bytes = std::max<std::int64_t>(memory.request, 1);
    const ResourceAxis cpu_axis{
        nodes.allocatable(cluster::kCpu), {}, nodes.requested(cluster::kCpu), milli, 1};
    const ResourceAxis memory_axis{
        nodes.allocatable(cluster::kMemory), {}, nodes.requested(cluster::kMemory), bytes, 1};
    const ResourceAxis share_axes[] = {{cpu_axis.capacity, {}, nodes.non_zero_cpu(), milli, 1},
                                       {memory_axis.capacity, {}, nodes.non_zero_memory(), bytes, 1}};
    const auto fit = cluster.Make<NodeResourcesFit>();
    const auto most = cluster.Make<NodeResourcesFit>("scoringStrategy: {type: MostAllocated}");
    const auto balance = cluster.Make<NodeResourcesBalancedAllocation>();
    const auto fit_scores = cluster.Scores(*fit, pod);
    const auto most_scores = cluster.Scores(*most, pod);
    const auto balance_scores = cluster.Scores(*balance, pod);
    nodes.all().ForEach([&](std::size_t row) {
      const std::string& name = nodes.name(static_cast<cluster::Row>(row));
      ASSERT_EQ(fit_scores.at(name), MeanShare(Allocation::kLeast, share_axes, row)) << round << " " << name;
      ASSERT_EQ(most_scores.at(name), MeanShare(Allocation::kMost, share_axes, row)) << round << " " << name;
      ASSERT_EQ(balance_scores.at(name), BalanceOf(cpu_axis, memory_axis, row)) << round << " " << name;
    });
  }
}

}  // namespace
}  // namespace berth::plugins
