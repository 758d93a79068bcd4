#include "scheduler/plugins/load_aware/forecast_kernel.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/check.hpp"

namespace berth::plugins {
namespace {

static_assert(std::endian::native == std::endian::little);

// A word is four scores: as many bytes as the lanes of a floating-point number.
constexpr std::size_t kWords = kBlockRows / 4;

// What the pod takes, negative, so that it is added; and the least points of an axis. Not constants, which
// would be compared in another way than by the instruction for maxima.
struct Axis {
  float own, least;
};

template <std::size_t kAxes>
struct Forecast {
  BERTH_KERNEL std::uint32_t Score(const ForecastBlock& block, const std::array<Axis, kAxes>& axes,
                                   std::size_t lane, std::size_t word) {
    const auto points = [&](std::size_t axis) {
      const ForecastBlock::Axis& of = block.axes[axis];
      return of.points_per_unit[lane][word] * axes[axis].own + of.room[lane][word];
    };
    const float base = block.base[lane][word];
    const float first = points(0);
    float sum = first > base ? first : base;
    if constexpr (kAxes > 1) {
      const float second = points(1);
      sum += second > axes[1].least ? second : axes[1].least;
    }
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(sum));
  }

  BERTH_KERNEL void Block(const ForecastBlock& block, const std::array<Axis, kAxes>& axes,
                          std::uint8_t* out) {
#pragma GCC ivdep  // `out` is not part of the block
    for (std::size_t word = 0; word < kWords; ++word) {
      const std::uint32_t scores = Score(block, axes, 0, word) | Score(block, axes, 1, word) << 8 |
                                   Score(block, axes, 2, word) << 16 | Score(block, axes, 3, word) << 24;
      __builtin_memcpy(out + word * sizeof scores, &scores, sizeof scores);
    }
  }

  template <VectorLevel>
  BERTH_KERNEL void Run(std::span<const ForecastBlock> blocks, std::array<Axis, kAxes> axes,
                        RowSet::Blocks feasible, std::span<std::uint8_t> out) {
    const std::size_t whole = out.size() / kBlockRows;
    for (std::size_t block = 0; block < std::min(whole, feasible.size()); ++block) {
      if (feasible[block] != 0) Block(blocks[block], axes, out.data() + block * kBlockRows);
    }
    if (whole >= feasible.size() || feasible[whole] == 0) return;
    std::uint8_t last[kBlockRows];
    Block(blocks[whole], axes, last);
    StoreBlock(last, out.size(), whole, out.data());
  }
};

}  // namespace

void ScoreForecast(std::span<const ForecastBlock> blocks, std::span<const float> own, const RowSet& feasible,
                   std::span<std::uint8_t> out, VectorLevel level) {
  BERTH_CHECK(blocks.size() >= BlocksOf(out.size()), blocks.size(), out.size());
  BERTH_CHECK(own.size() == 1 || own.size() == 2, own.size());
  const auto rows = feasible.blocks(out.size());
  if (own.size() == 1) {
    RunVectorized<Forecast<1>>(level, blocks, std::array{Axis{-own[0], 0}}, rows, out);
  } else {
    RunVectorized<Forecast<2>>(level, blocks, std::array{Axis{-own[0], 0}, Axis{-own[1], 0}}, rows, out);
  }
}

}  // namespace berth::plugins
