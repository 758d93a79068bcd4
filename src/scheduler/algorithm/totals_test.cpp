#include "scheduler/algorithm/totals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.hpp"
#include "testing/vector_levels.hpp"

namespace berth::algorithm {
namespace {

using berth::testing::RunnableLevels;

TEST(Totals, EveryRowGetsItsScoreTimesTheWeight) {
  // Longer than any vector register, and not a multiple of its length.
  std::vector<std::uint8_t> scores;
  for (int i = 0; i < 103; ++i) scores.push_back(static_cast<std::uint8_t>(i % 101));
  for (const VectorLevel level : RunnableLevels()) {
    std::vector<std::int64_t> totals(scores.size(), -7);
    AddWeighted(scores, 2'147'483'647, totals, level);
    AddWeighted(scores, 1, totals, level);
    for (std::size_t i = 0; i < scores.size(); ++i) EXPECT_EQ(totals[i], -7 + scores[i] * 2'147'483'648) << i;
  }
}

TEST(Totals, TheTournamentTreeHaveTheHighestSumOfAllFeasibleRows) {
  Random random(1);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t rows = 1 + random.Below(300);
    RowSet feasible(rows);
    const std::uint64_t share = 1 + random.Below(4);
    for (std::size_t row = 0; row < rows; ++row) {
      if (random.Below(4) < share) feasible.Add(row);
    }
    const std::uint64_t spread = 1 + random.Below(101);  // few different scores cause many ties
    std::vector<std::vector<std::uint8_t>> columns(random.Below(5), std::vector<std::uint8_t>(rows));
    std::vector<WeightedScores> parts;
    std::vector<std::int64_t> totals(rows, 0);
    for (auto& column : columns) {
      const auto weight = static_cast<std::int64_t>(random.Below(65));
      for (std::size_t row = 0; row < rows; ++row) {
        column[row] = static_cast<std::uint8_t>(feasible.Has(row) ? random.Below(spread) : random.Below(256));
        totals[row] += weight * column[row];
      }
      parts.push_back({column, weight});
    }
    std::int64_t highest = INT64_MIN;
    feasible.ForEach([&](std::size_t row) { highest = std::max(highest, totals[row]); });
    RowSet expected(rows);
    feasible.ForEach([&](std::size_t row) {
      if (totals[row] == highest) expected.Add(row);
    });
    ASSERT_TRUE(AreLight(parts));
    for (const VectorLevel level : RunnableLevels()) {
      RowSet best(rows);
      AddBest(totals, feasible, best, level);
      ASSERT_EQ(best, expected) << round;
      std::vector<std::uint16_t> scratch;
      RowSet light(rows);
      AddBestByScores(parts, feasible, rows, scratch, light, level);
      ASSERT_EQ(light, expected) << round;
    }
  }
}

TEST(Totals, AreLightIfTheHighestSumFitsInSixteenBits) {
  const std::vector<std::uint8_t> scores(3);
  EXPECT_TRUE(AreLight(std::vector<WeightedScores>{{scores, 157}, {scores, 100}}));
  EXPECT_FALSE(AreLight(std::vector<WeightedScores>{{scores, 158}, {scores, 100}}));
  EXPECT_FALSE(AreLight(std::vector<WeightedScores>{{scores, INT64_MAX}, {scores, INT64_MAX}}));
  EXPECT_TRUE(AreLight({}));
}

TEST(Totals, NegativeTotalsMayBeTheBest) {
  const std::vector<std::int64_t> totals = {5, -3, -4, -3};
  RowSet feasible(4);
  for (const std::size_t row : {1, 2, 3}) feasible.Add(row);
  for (const VectorLevel level : RunnableLevels()) {
    RowSet best(4);
    AddBest(totals, feasible, best, level);
    EXPECT_EQ(best.Count(), 2u);
    EXPECT_FALSE(best.Has(2));
  }
}

}  // namespace
}  // namespace berth::algorithm
