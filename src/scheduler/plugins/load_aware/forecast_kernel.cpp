#include "scheduler/plugins/load_aware/forecast_kernel.hpp"

#include "base/check.hpp"

namespace berth::plugins {
namespace {

constexpr float kRounding = 0.001F;

struct Forecast {
  BERTH_KERNEL void AddScores(const float* __restrict expected, const float* __restrict percent_per_unit,
                              float own, float share, float* __restrict sums) {
    for (std::size_t i = 0; i < kBlockRows; ++i) {
      const float percent = expected[i] + own * percent_per_unit[i];
      const float raised = percent < 0 ? 0 : percent;
      const float limited = raised > 100 ? 100 : raised;
      sums[i] += share * (100 - limited);
    }
  }

  template <VectorLevel>
  BERTH_KERNEL void Run(std::span<const float> base, std::span<const ForecastAxis> axes,
                        RowSet::Blocks feasible, std::span<std::uint8_t> out) {
    float padding[3][kBlockRows];
    float sums[kBlockRows];
    std::uint8_t bytes[kBlockRows];
    const std::size_t rows = out.size();
    for (std::size_t block = feasible.First(); block < feasible.size(); block = feasible.Next(block)) {
      const float* const before = BlockOf(base.data(), rows, block, padding[0]);
      for (std::size_t i = 0; i < kBlockRows; ++i) sums[i] = before[i] + kRounding;
      for (const ForecastAxis& axis : axes) {
        AddScores(BlockOf(axis.expected.data(), rows, block, padding[1]),
                  BlockOf(axis.percent_per_unit.data(), rows, block, padding[2]), axis.own, axis.share, sums);
      }
      for (std::size_t i = 0; i < kBlockRows; ++i)
        bytes[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(sums[i]));
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
  RunVectorized<Forecast>(level, base, axes, feasible.blocks(out.size()), out);
}

}  // namespace berth::plugins
