#include "scheduler/plugins/load_aware/forecast_kernel.hpp"

#include <array>

#include "base/check.hpp"

namespace berth::plugins {
namespace {

constexpr float kRounding = 0.001F;

template <std::size_t kAxes>
struct Forecast {
  // Percentages are not negative, so they are limited above only. The sum of share * (100 - percent) is
  // `full`, which includes all shares of 100, minus the shares of the percentages.
  BERTH_KERNEL void Block(const float* __restrict base, const std::array<const float*, kAxes>& expected,
                          const std::array<const float*, kAxes>& percent_per_unit, const ForecastAxis* axes,
                          float full, std::int32_t* __restrict out) {
    for (std::size_t i = 0; i < kBlockRows; ++i) {
      float sum = base[i] + full;
#pragma GCC unroll 4
      for (std::size_t axis = 0; axis < kAxes; ++axis) {
        const float percent = expected[axis][i] + axes[axis].own * percent_per_unit[axis][i];
        sum -= axes[axis].share * (percent < 100 ? percent : 100);
      }
      out[i] = static_cast<std::int32_t>(sum);
    }
  }

  template <VectorLevel>
  BERTH_KERNEL void Run(std::span<const float> base, std::span<const ForecastAxis> axes,
                        RowSet::Blocks feasible, std::span<std::uint8_t> out) {
    float padding[1 + 2 * kAxes][kBlockRows];
    std::int32_t scores[kBlockRows];
    std::uint8_t bytes[kBlockRows];
    const std::size_t rows = out.size();
    float full = kRounding;
    for (std::size_t axis = 0; axis < kAxes; ++axis) full += 100 * axes[axis].share;
    for (std::size_t block = feasible.First(); block < feasible.size(); block = feasible.Next(block)) {
      std::array<const float*, kAxes> expected, percent_per_unit;
      for (std::size_t axis = 0; axis < kAxes; ++axis) {
        expected[axis] = BlockOf(axes[axis].expected.data(), rows, block, padding[1 + 2 * axis]);
        percent_per_unit[axis] =
            BlockOf(axes[axis].percent_per_unit.data(), rows, block, padding[2 + 2 * axis]);
      }
      Block(BlockOf(base.data(), rows, block, padding[0]), expected, percent_per_unit, axes.data(), full,
            scores);
      for (std::size_t i = 0; i < kBlockRows; ++i) bytes[i] = static_cast<std::uint8_t>(scores[i]);
      StoreBlock(bytes, rows, block, out.data());
    }
  }
};

}  // namespace

void ScoreForecast(std::span<const float> base, std::span<const ForecastAxis> axes, const RowSet& feasible,
                   std::span<std::uint8_t> out, VectorLevel level) {
  BERTH_CHECK(base.size() == out.size(), base.size(), out.size());
  for (const ForecastAxis& axis : axes) {
    BERTH_CHECK(axis.expected.size() == out.size() && axis.percent_per_unit.size() == out.size(),
                axis.expected.size(), axis.percent_per_unit.size(), out.size());
  }
  BERTH_CHECK(axes.size() == 1 || axes.size() == 2, axes.size());
  const auto blocks = feasible.blocks(out.size());
  if (axes.size() == 1) {
    RunVectorized<Forecast<1>>(level, base, axes, blocks, out);
  } else {
    RunVectorized<Forecast<2>>(level, base, axes, blocks, out);
  }
}

}  // namespace berth::plugins
