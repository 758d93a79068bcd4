#include "scheduler/plugins/load_aware/forecast_kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "testing/vector_levels.hpp"

namespace berth::plugins {
namespace {

using berth::testing::RunnableLevels;

TEST(ForecastKernel, EqualsTheDefinitionOnEveryVectorLevel) {
  std::mt19937 random(3);
  const auto between = [&](float least, float most) {
    return std::uniform_real_distribution<float>(least, most)(random);
  };
  for (const std::size_t rows : {1U, 63U, 64U, 65U, 300U}) {
    std::vector<float> base(rows), expected[2], per_unit[2];
    for (auto& column : {&expected[0], &expected[1], &per_unit[0], &per_unit[1]}) column->resize(rows);
    RowSet feasible(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      base[row] = between(0, 25);
      for (int i = 0; i < 2; ++i) {
        expected[i][row] = between(0, 150);
        per_unit[i][row] = between(0, 0.1F);
      }
      if (random() % 3 > 0 && row / 64 != 2) feasible.Add(row);
    }
    const ForecastAxis axes[] = {{expected[0], per_unit[0], 300, 0.5F},
                                 {expected[1], per_unit[1], 20, 0.25F}};
    std::vector<std::uint8_t> first;
    for (const VectorLevel level : RunnableLevels()) {
      constexpr std::uint8_t kUntouched = 250;
      std::vector<std::uint8_t> out(rows, kUntouched);
      ScoreForecast(base, axes, feasible, out, level);
      for (std::size_t row = 0; row < rows; ++row) {
        if (!feasible.Has(row)) continue;
        double sum = base[row];
        for (const ForecastAxis& axis : axes) {
          const double percent = axis.expected[row] + axis.own * axis.percent_per_unit[row];
          sum += axis.share * (100 - std::clamp(percent, 0.0, 100.0));
        }
        EXPECT_NEAR(out[row], std::floor(sum), std::abs(sum - std::round(sum)) < 0.01 ? 1 : 0) << row;
      }
      if (first.empty()) first = out;
      EXPECT_EQ(out, first) << "levels differ";
      for (std::size_t row = 128; row < std::min<std::size_t>(rows, 192); ++row)
        EXPECT_EQ(out[row], kUntouched);
    }
  }
}

TEST(ForecastKernel, SharesThatAreNotExactDoNotLowerAFullScore) {
  const std::vector<float> base = {100.0F / 3}, expected = {0}, per_unit = {0};
  RowSet feasible(1);
  feasible.Add(0);
  const ForecastAxis axes[] = {{expected, per_unit, 1, 1.0F / 3}, {expected, per_unit, 1, 1.0F / 3}};
  std::vector<std::uint8_t> out(1);
  ScoreForecast(base, axes, feasible, out);
  EXPECT_EQ(out[0], 100);
}

}  // namespace
}  // namespace berth::plugins
