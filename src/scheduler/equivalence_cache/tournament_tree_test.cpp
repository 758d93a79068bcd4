#include "scheduler/equivalence_cache/tournament_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.hpp"

namespace berth::equivalence_cache {
namespace {

TEST(TournamentTree, EqualTheResultOfAFullScan) {
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
      const std::int32_t highest = *std::ranges::max_element(totals);
      if (highest == TournamentTree::kExcluded) continue;
      RowSet expected(rows);
      for (std::size_t row = 0; row < rows; ++row) {
        if (totals[row] == highest) expected.Add(row);
      }
      ASSERT_EQ(best.All(), expected);
      ASSERT_EQ(best.Count(), expected.Count());
      std::size_t skip = 0;
      expected.ForEach([&](std::size_t row) { ASSERT_EQ(best.Nth(skip++), row); });
    }
  }
}

}  // namespace
}  // namespace berth::equivalence_cache
