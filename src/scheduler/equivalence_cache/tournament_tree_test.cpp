#include "scheduler/equivalence_cache/tournament_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.hpp"

namespace berth::equivalence_cache {
namespace {

// The result of a full scan.
void ExpectBest(const TournamentTree& best, const std::vector<std::int32_t>& totals) {
  const std::int32_t highest = *std::ranges::max_element(totals);
  if (highest == TournamentTree::kExcluded) return;
  RowSet expected(totals.size());
  for (std::size_t row = 0; row < totals.size(); ++row) {
    if (totals[row] == highest) expected.Add(row);
  }
  ASSERT_EQ(best.All(), expected);
  ASSERT_EQ(best.Count(), expected.Count());
  std::size_t skip = 0;
  expected.ForEach([&](std::size_t row) { ASSERT_EQ(best.Nth(skip++), row); });
}

TEST(TournamentTree, SingleUpdatesEqualAFullScan) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const std::size_t rows = 1 + random.Below(400);
    TournamentTree best;
    best.Reset(rows);
    std::vector<std::int32_t> totals(rows, TournamentTree::kExcluded);
    const std::uint64_t different = 1 + random.Below(20);
    for (int step = 0; step < 60; ++step) {
      for (std::uint64_t i = random.Below(8); i > 0; --i) {
        const std::size_t row = random.Below(rows);
        totals[row] = random.Below(5) == 0 ? TournamentTree::kExcluded
                                           : static_cast<std::int32_t>(random.Below(different));
        best.Set(row, totals[row]);
      }
      ExpectBest(best, totals);
    }
  }
}

TEST(TournamentTree, WeightedSumsOfAllRowsEqualAFullScan) {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    const std::size_t rows = 1 + random.Below(round < 20 ? 70 : 700);
    const std::uint64_t different = 1 + random.Below(100);
    std::vector<std::vector<std::uint8_t>> scores(random.Below(4), std::vector<std::uint8_t>(rows));
    std::vector<TournamentTree::Part> parts;
    for (std::vector<std::uint8_t>& of_plugin : scores) {
      for (std::uint8_t& score : of_plugin) score = static_cast<std::uint8_t>(random.Below(different));
      parts.push_back(
          {of_plugin, static_cast<std::int32_t>(random.Below(3) == 0 ? 1'000'000 : random.Below(9))});
    }
    TournamentTree best;
    best.Reset(rows);
    best.Set(random.Below(rows), INT32_MAX);  // must not remain
    RowSet taking_part(rows);
    std::vector<std::int32_t> totals(rows, TournamentTree::kExcluded);
    for (std::size_t row = 0; row < rows; ++row) {
      if (random.Below(4) == 0) continue;
      taking_part.Add(row);
      totals[row] = 0;
      for (const TournamentTree::Part& part : parts) totals[row] += part.weight * part.scores[row];
    }
    for (const VectorLevel level : {VectorLevel::kBaseline, BestVectorLevel()}) {
      best.SetAll(taking_part, parts, level);
      ExpectBest(best, totals);
      const std::size_t row = random.Below(rows);
      totals[row] = TournamentTree::kExcluded;
      best.Set(row, totals[row]);
      taking_part.Remove(row);
      ExpectBest(best, totals);
    }
  }
}

}  // namespace
}  // namespace berth::equivalence_cache
