#include "core/totals.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace berth::core {
namespace {

TEST(Totals, EveryRowGetsItsScoreTimesTheWeight) {
  // Longer than any vector register, and not a multiple of one.
  std::vector<std::int64_t> scores;
  for (std::int64_t i = 0; i < 103; ++i) scores.push_back(i % 101);
  std::vector<std::uint8_t> narrow(scores.size());
  Narrow(scores, narrow);
  std::vector<std::int64_t> totals(scores.size(), -7);
  AddWeighted(narrow, 2'147'483'647, totals);
  AddWeighted(narrow, 1, totals);
  for (std::size_t i = 0; i < scores.size(); ++i) EXPECT_EQ(totals[i], -7 + scores[i] * 2'147'483'648) << i;
}

}  // namespace
}  // namespace berth::core
