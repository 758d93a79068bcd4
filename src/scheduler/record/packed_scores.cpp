#include "scheduler/record/packed_scores.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.hpp"
#include "scheduler/framework/score_kernels.hpp"

namespace berth::record {
namespace {

using Blocks = RowSet::Blocks;

using framework::ForSpread;

constexpr ScoreCode kBytes{.lowest = 0, .step = 1, .bits = 8};

struct Range {
  std::uint8_t lowest = 255;
  std::uint8_t highest = 0;

  BERTH_KERNEL Range Of(const std::uint8_t* lowest, const std::uint8_t* highest) {
    Range range;
    for (std::size_t i = 0; i < kBlockRows; ++i) {
      range.lowest = lowest[i] < range.lowest ? lowest[i] : range.lowest;
      range.highest = highest[i] > range.highest ? highest[i] : range.highest;
    }
    return range;
  }
};

struct RangeOfScores {
  // Of all rows.
  template <VectorLevel>
  BERTH_KERNEL Range Run(std::span<const std::uint8_t> scores) {
    std::uint8_t lowest[kBlockRows];
    std::uint8_t highest[kBlockRows] = {};
    std::fill_n(lowest, kBlockRows, std::uint8_t{255});
    const std::uint8_t* from = scores.data();
    for (std::size_t block = 0; block < scores.size() / kBlockRows; ++block, from += kBlockRows) {
      for (std::size_t i = 0; i < kBlockRows; ++i) {
        lowest[i] = from[i] < lowest[i] ? from[i] : lowest[i];
        highest[i] = from[i] > highest[i] ? from[i] : highest[i];
      }
    }
    for (std::size_t i = 0; i < scores.size() % kBlockRows; ++i) {
      lowest[i] = from[i] < lowest[i] ? from[i] : lowest[i];
      highest[i] = from[i] > highest[i] ? from[i] : highest[i];
    }
    return Range::Of(lowest, highest);
  }
  template <VectorLevel>
  BERTH_KERNEL Range Run(std::span<const std::uint8_t> scores, Blocks feasible) {
    std::uint8_t padding[kBlockRows];
    std::uint8_t lowest[kBlockRows];
    std::uint8_t highest[kBlockRows] = {};
    std::fill_n(lowest, kBlockRows, std::uint8_t{255});
    for (std::size_t block = feasible.First(); block < feasible.size(); block = feasible.Next(block)) {
      const std::uint8_t* from = BlockOf(scores.data(), scores.size(), block, padding);
      std::uint8_t mask[kBlockRows];
      SpreadBits(feasible[block], mask);
      for (std::size_t i = 0; i < kBlockRows; ++i) {
        const auto low = static_cast<std::uint8_t>(from[i] | ~mask[i]);
        const auto high = static_cast<std::uint8_t>(from[i] & mask[i]);
        lowest[i] = low < lowest[i] ? low : lowest[i];
        highest[i] = high > highest[i] ? high : highest[i];
      }
    }
    return Range::Of(lowest, highest);
  }
};

// Whether the rows have the lowest or the highest score and no other.
struct HaveTwoScores {
  BERTH_KERNEL std::uint8_t IsOther(std::uint8_t score, Range range) {
    return ((score != range.lowest) & (score != range.highest)) ? 0xff : 0;
  }
  // All rows.
  template <VectorLevel>
  BERTH_KERNEL bool Run(std::span<const std::uint8_t> scores, Range range) {
    const std::uint8_t* from = scores.data();
    for (std::size_t block = 0; block < scores.size() / kBlockRows; ++block, from += kBlockRows) {
      std::uint8_t others = 0;
      for (std::size_t i = 0; i < kBlockRows; ++i) others |= IsOther(from[i], range);
      if (others != 0) return false;
    }
    for (std::size_t i = 0; i < scores.size() % kBlockRows; ++i) {
      if (IsOther(from[i], range) != 0) return false;
    }
    return true;
  }
  template <VectorLevel>
  BERTH_KERNEL bool Run(std::span<const std::uint8_t> scores, Range range, Blocks feasible) {
    std::uint8_t padding[kBlockRows];
    for (std::size_t block = feasible.First(); block < feasible.size(); block = feasible.Next(block)) {
      const std::uint8_t* from = BlockOf(scores.data(), scores.size(), block, padding);
      std::uint8_t mask[kBlockRows];
      SpreadBits(feasible[block], mask);
      std::uint8_t others = 0;
      for (std::size_t i = 0; i < kBlockRows; ++i)
        others = static_cast<std::uint8_t>(others | (IsOther(from[i], range) & mask[i]));
      if (others != 0) return false;
    }
    return true;
  }
};

// A block of 64 codes of b bits becomes 8 b bytes: byte j has the codes of the rows j, j + 8 b, j + 16 b,
// ..., from the lowest bits up. So whole words are shifted and combined.
template <std::size_t kBits>
struct Packing {
  static_assert(kBits == 1 || kBits == 2 || kBits == 4);

  // The lowest bits of codes, also for rows whose scores have no code.
  BERTH_KERNEL std::uint8_t CodeOf(std::uint8_t score, std::uint8_t lowest) {
    constexpr auto kMask = static_cast<std::uint8_t>((1U << kBits) - 1);
    if constexpr (kBits == 1) return score != lowest ? 1 : 0;
    return static_cast<std::uint8_t>((score - lowest) & kMask);
  }
  template <VectorLevel>
  BERTH_KERNEL void Run(std::span<const std::uint8_t> scores, std::uint8_t lowest, std::uint64_t* out) {
    std::uint8_t padding[kBlockRows];
    for (std::size_t block = 0; block < BlocksOf(scores.size()); ++block, out += kBits) {
      const std::uint8_t* from = BlockOf(scores.data(), scores.size(), block, padding);
      std::uint8_t codes[kBlockRows];
      for (std::size_t i = 0; i < kBlockRows; ++i) codes[i] = CodeOf(from[i], lowest);
      std::uint64_t words[8];
      __builtin_memcpy(words, codes, sizeof words);
      std::uint64_t packed[kBits] = {};
      for (std::size_t i = 0; i < 8; ++i) packed[i % kBits] |= words[i] << (i - i % kBits);
      __builtin_memcpy(out, packed, sizeof packed);
    }
  }
};

// The codes are the scores.
void PackBytes(std::span<const std::uint8_t> scores, ScoreCode code, std::span<std::uint64_t> out) {
  BERTH_CHECK(code == kBytes, code.lowest, code.step, code.bits);
  std::ranges::fill(out.last(kBlockRows / sizeof(std::uint64_t)), 0);
  std::memcpy(out.data(), scores.data(), scores.size());
}

ScoreCode CodeOf(Range range, bool two_scores) {
  if (range.lowest >= range.highest) return {.lowest = range.highest};
  const auto width = static_cast<std::uint8_t>(range.highest - range.lowest);
  if (two_scores) return {.lowest = range.lowest, .step = width, .bits = 1};
  if (width >= 16) return kBytes;
  return {.lowest = range.lowest, .step = 1, .bits = static_cast<std::uint8_t>(width < 4 ? 2 : 4)};
}

ScoreCode CodeOfAll(std::span<const std::uint8_t> scores, VectorLevel level) {
  const Range range = RunVectorized<RangeOfScores>(level, scores);
  return CodeOf(range, RunVectorized<HaveTwoScores>(level, scores, range));
}
ScoreCode CodeOfFeasible(std::span<const std::uint8_t> scores, const RowSet& feasible, VectorLevel level) {
  const Blocks blocks = feasible.blocks(scores.size());
  const Range range = RunVectorized<RangeOfScores>(ForSpread(level), scores, blocks);
  return CodeOf(range, RunVectorized<HaveTwoScores>(ForSpread(level), scores, range, blocks));
}

}  // namespace

// The cheap answers first: a column of many scores has many in its first rows; most columns of few scores
// have them in the rows that are not feasible, too, and all rows are read several times faster than some.
ScoreCode NarrowestCode(std::span<const std::uint8_t> scores, const RowSet& feasible, VectorLevel level) {
  constexpr std::size_t kFirstRows = 2 * kBlockRows;
  if (CodeOfFeasible(scores.first(std::min(scores.size(), kFirstRows)), feasible, level) == kBytes)
    return kBytes;
  const ScoreCode code = CodeOfAll(scores, level);
  if (code != kBytes || feasible.Count() == scores.size()) return code;
  return CodeOfFeasible(scores, feasible, level);
}

void Pack(std::span<const std::uint8_t> scores, ScoreCode code, std::span<std::uint64_t> out,
          VectorLevel level) {
  BERTH_CHECK(out.size() == code.WordsFor(scores.size()), out.size(), scores.size());
  switch (code.bits) {
    case 0:
      return;
    case 1:
      return RunVectorized<Packing<1>>(level, scores, code.lowest, out.data());
    case 2:
      return RunVectorized<Packing<2>>(level, scores, code.lowest, out.data());
    case 4:
      return RunVectorized<Packing<4>>(level, scores, code.lowest, out.data());
    default:
      return PackBytes(scores, code, out);
  }
}

std::uint8_t PackedScores::operator[](std::size_t row) const {
  static_assert(std::endian::native == std::endian::little);
  if (code_.bits == 0) return code_.lowest;
  const std::size_t bytes = 8 * std::size_t{code_.bits};  // of a block
  const std::size_t in_block = row % kBlockRows;
  const std::size_t byte = row / kBlockRows * bytes + in_block % bytes;
  const std::uint64_t word = words_[byte / 8] >> (byte % 8 * 8);
  const std::uint64_t code = (word >> (in_block / bytes * code_.bits)) & ((1U << code_.bits) - 1);
  return static_cast<std::uint8_t>(code_.lowest + code_.step * code);
}

}  // namespace berth::record
