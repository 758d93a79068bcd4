#include "scheduler/plugins/load_aware/forecast_kernel.hpp"

#include <array>

#include "base/check.hpp"

namespace berth::plugins {
namespace {

constexpr float kRounding = 0.001F;

// A resource in terms of the score: its points are lost in proportion to the percentage, up to `most`.
struct Axis {
  const float* expected;
  const float* percent_per_unit;
  float own, share, most;
};

template <std::size_t kAxes>
struct Forecast {
  // Percentages are not negative, so they are limited above only. The sum of share * (100 - percent) is
  // `full`, which includes all shares of 100, minus the shares of the percentages.
  BERTH_KERNEL void Block(const float* __restrict base, const std::array<Axis, kAxes>& axes,
                          std::size_t begin, float full, std::uint8_t* __restrict out) {
    std::int32_t scores[kBlockRows];
    for (std::size_t i = 0; i < kBlockRows; ++i) {
      float sum = base[i] + full;
#pragma GCC unroll 4
      for (const Axis& axis : axes) {
        const float lost =
            axis.share * axis.expected[begin + i] + axis.own * axis.percent_per_unit[begin + i];
        sum -= lost < axis.most ? lost : axis.most;
      }
      scores[i] = static_cast<std::int32_t>(sum);
    }
    for (std::size_t i = 0; i < kBlockRows; ++i) out[i] = static_cast<std::uint8_t>(scores[i]);
  }

  template <VectorLevel>
  BERTH_KERNEL void Run(std::span<const float> base, std::span<const ForecastAxis> given,
                        RowSet::Blocks feasible, std::span<std::uint8_t> out) {
    std::array<Axis, kAxes> axes;
    float full = kRounding;
    for (std::size_t i = 0; i < kAxes; ++i) {
      const float share = given[i].share;
      axes[i] = {given[i].expected.data(), given[i].percent_per_unit.data(), share * given[i].own, share,
                 100 * share};
      full += axes[i].most;
    }
    // All but the last block, which may be a partial one, have the same simple form.
    const std::size_t whole = out.size() / kBlockRows;
    std::size_t block = feasible.First();
    for (; block < whole; block = feasible.Next(block)) {
      const std::size_t begin = block * kBlockRows;
      Block(base.data() + begin, axes, begin, full, out.data() + begin);
    }
    if (block < feasible.size()) Last(base, axes, block, full, out);
  }

  BERTH_KERNEL void Last(std::span<const float> base, std::array<Axis, kAxes> axes, std::size_t block,
                         float full, std::span<std::uint8_t> out) {
    float padding[1 + 2 * kAxes][kBlockRows];
    std::uint8_t bytes[kBlockRows];
    const std::size_t rows = out.size();
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      axes[axis].expected = BlockOf(axes[axis].expected, rows, block, padding[1 + 2 * axis]);
      axes[axis].percent_per_unit = BlockOf(axes[axis].percent_per_unit, rows, block, padding[2 + 2 * axis]);
    }
    Block(BlockOf(base.data(), rows, block, padding[0]), axes, 0, full, bytes);
    StoreBlock(bytes, rows, block, out.data());
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
