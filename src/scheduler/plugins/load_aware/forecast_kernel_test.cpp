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
    std::vector<ForecastBlock> blocks(BlocksOf(rows));
    RowSet feasible(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      ForecastBlock& block = blocks[row / kBlockRows];
      ForecastBlock::At(block.base, row) = between(0, 25);
      ForecastBlock::At(block.axes[0].room, row) = ForecastBlock::At(block.base, row) + between(-25, 50);
      ForecastBlock::At(block.axes[1].room, row) = between(-12, 25);
      for (ForecastBlock::Axis& axis : block.axes)
        ForecastBlock::At(axis.points_per_unit, row) = between(0, 0.05F);
      if (random() % 3 > 0 && row / kBlockRows != 2) feasible.Add(row);
    }
    for (const std::vector<float>& own : {std::vector<float>{300}, {300, 20}}) {
      std::vector<std::uint8_t> first;
      for (const VectorLevel level : RunnableLevels()) {
        constexpr std::uint8_t kUntouched = 250;
        std::vector<std::uint8_t> out(rows, kUntouched);
        ScoreForecast(blocks, own, feasible, out, level);
        for (std::size_t row = 0; row < rows; ++row) {
          if (!feasible.Has(row)) continue;
          ForecastBlock& block = blocks[row / kBlockRows];
          const double base = ForecastBlock::At(block.base, row);
          double sum = base;
          for (std::size_t i = 0; i < own.size(); ++i) {
            ForecastBlock::Axis& axis = block.axes[i];
            const double room = ForecastBlock::At(axis.room, row) - (i == 0 ? base : 0);
            sum += std::max(room - own[i] * ForecastBlock::At(axis.points_per_unit, row), 0.0);
          }
          EXPECT_NEAR(out[row], std::floor(sum), std::abs(sum - std::round(sum)) < 0.01 ? 1 : 0) << row;
        }
        if (first.empty()) first = out;
        EXPECT_EQ(out, first) << "levels differ";
        for (std::size_t row = 2 * kBlockRows; row < std::min<std::size_t>(rows, 3 * kBlockRows); ++row)
          EXPECT_EQ(out[row], kUntouched);
      }
    }
  }
}

}  // namespace
}  // namespace berth::plugins
