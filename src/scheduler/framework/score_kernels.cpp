#include "scheduler/framework/score_kernels.hpp"

#include <algorithm>

#include "base/reciprocal.hpp"
#include "scheduler/framework/score_column.hpp"

namespace berth::framework {
namespace {

using Word = RowSet::Word;
using Blocks = RowSet::Blocks;

BERTH_KERNEL std::int64_t MaskOf(Word word, std::size_t row) {
  return -static_cast<std::int64_t>((word >> row) & 1);
}

// Computes elementwise maxima first; the reduction of a block happens once, at the end.
struct HighestByte {
  BERTH_KERNEL std::uint8_t Of(const std::uint8_t* block) {
    std::uint8_t result = 0;
    for (std::size_t i = 0; i < kBlockRows; ++i) result = block[i] > result ? block[i] : result;
    return result;
  }

  template <VectorLevel>
  BERTH_KERNEL std::uint8_t Run(std::span<const std::uint8_t> values) {
    std::uint8_t padding[kBlockRows];
    std::uint8_t highest[kBlockRows] = {};
    for (std::size_t block = 0; block < BlocksOf(values.size()); ++block) {
      const std::uint8_t* from = BlockOf(values.data(), values.size(), block, padding);
      for (std::size_t i = 0; i < kBlockRows; ++i) highest[i] = from[i] > highest[i] ? from[i] : highest[i];
    }
    return Of(highest);
  }
  template <VectorLevel>
  BERTH_KERNEL std::uint8_t Run(std::span<const std::uint8_t> values, Blocks feasible) {
    std::uint8_t padding[kBlockRows];
    std::uint8_t highest[kBlockRows] = {};
    for (std::size_t block = feasible.First(); block < feasible.size(); block = feasible.Next(block)) {
      const std::uint8_t* from = BlockOf(values.data(), values.size(), block, padding);
      std::uint8_t mask[kBlockRows];
      SpreadBits(feasible[block], mask);
      for (std::size_t i = 0; i < kBlockRows; ++i) {
        const auto value = static_cast<std::uint8_t>(from[i] & mask[i]);
        highest[i] = value > highest[i] ? value : highest[i];
      }
    }
    return Of(highest);
  }
};

// Let d be the maximum, n = 100 * value <= 100 * d, and m = floor(2^24 / d) + 1, which is (2^24 + e) / d with
// 0 < e <= d. Then n * m / 2^24 is n / d + n * e / (d * 2^24), more than n / d by less than 1 / d, as n * e
// is less than 2^24. So both have the same floor. n * m < 2^32. (Rows that are not feasible may overflow.)
struct ScaledBytes {
  template <VectorLevel>
  BERTH_KERNEL void Run(std::span<std::uint8_t> values, std::uint32_t maximum, bool reverse) {
    const std::uint32_t factor = ((std::uint32_t{1} << 24) / maximum + 1) * 100;
    // 100 - x is x inverted in all bits, plus 101.
    const auto flip = static_cast<std::uint8_t>(reverse ? 0xff : 0);
    const auto shift = static_cast<std::uint8_t>(reverse ? kMaxScore + 1 : 0);
    std::uint8_t padding[kBlockRows];
    for (std::size_t block = 0; block < BlocksOf(values.size()); ++block) {
      const std::uint8_t* from = BlockOf<std::uint8_t>(values.data(), values.size(), block, padding);
      std::uint8_t scaled[kBlockRows];
      for (std::size_t i = 0; i < kBlockRows; ++i)
        scaled[i] = static_cast<std::uint8_t>(((from[i] * factor >> 24) ^ flip) + shift);
      StoreBlock(scaled, values.size(), block, values.data());
    }
  }
};

struct Range {
  template <VectorLevel>
  BERTH_KERNEL WideRange Run(std::span<const std::int64_t> values, Blocks feasible) {
    std::int64_t padding[kBlockRows];
    WideRange range;
    for (std::size_t block = feasible.First(); block < feasible.size(); block = feasible.Next(block)) {
      const std::int64_t* from = BlockOf(values.data(), values.size(), block, padding);
      std::uint64_t bits = range.bits;
      std::int64_t maximum = range.maximum;
      for (std::size_t i = 0; i < kBlockRows; ++i) {
        const std::int64_t value = from[i] & MaskOf(feasible[block], i);
        bits |= static_cast<std::uint64_t>(value);
        maximum = value > maximum ? value : maximum;
      }
      range = {bits, maximum};
    }
    return range;
  }
};

struct ScaledWide {
  template <VectorLevel>
  BERTH_KERNEL void Run(std::span<const std::int64_t> values, Blocks feasible, std::int64_t maximum,
                        bool reverse, std::span<std::uint8_t> out) {
    const double reciprocal = 1.0 / static_cast<double>(maximum);
    const std::int32_t sign = reverse ? -1 : 1;
    const std::int32_t offset = reverse ? kMaxScore : 0;
    std::int64_t padding[kBlockRows];
    for (std::size_t block = feasible.First(); block < feasible.size(); block = feasible.Next(block)) {
      const std::int64_t* from = BlockOf(values.data(), values.size(), block, padding);
      std::int32_t scaled[kBlockRows];
      for (std::size_t i = 0; i < kBlockRows; ++i) {
        const double hundredfold = SmallToDouble(from[i] & MaskOf(feasible[block], i)) * kMaxScore;
        scaled[i] = offset + sign * static_cast<std::int32_t>(FloorBeforeTruncation(hundredfold, reciprocal));
      }
      std::uint8_t bytes[kBlockRows];
      for (std::size_t i = 0; i < kBlockRows; ++i) bytes[i] = static_cast<std::uint8_t>(scaled[i]);
      StoreBlock(bytes, out.size(), block, out.data());
    }
  }
};

struct Lowest {
  template <VectorLevel>
  BERTH_KERNEL std::uint64_t Run(std::span<const std::int64_t> values, Blocks feasible,
                                 std::span<std::uint8_t> out) {
    std::int64_t padding[kBlockRows];
    std::uint64_t bits = 0;
    for (std::size_t block = feasible.First(); block < feasible.size(); block = feasible.Next(block)) {
      const std::int64_t* from = BlockOf(values.data(), values.size(), block, padding);
      for (std::size_t i = 0; i < kBlockRows; ++i)
        bits |= static_cast<std::uint64_t>(from[i] & MaskOf(feasible[block], i));
      std::uint8_t bytes[kBlockRows];
      for (std::size_t i = 0; i < kBlockRows; ++i) bytes[i] = static_cast<std::uint8_t>(from[i]);
      StoreBlock(bytes, out.size(), block, out.data());
    }
    return bits;
  }
};

template <bool kAdd>
struct Marked {
  template <VectorLevel>
  BERTH_KERNEL void Run(std::span<std::uint8_t> values, Blocks rows, std::uint8_t value) {
    std::uint8_t padding[kBlockRows];
    for (std::size_t block = rows.First(); block < rows.size(); block = rows.Next(block)) {
      const std::uint8_t* from = BlockOf<std::uint8_t>(values.data(), values.size(), block, padding);
      std::uint8_t mask[kBlockRows];
      SpreadBits(rows[block], mask);
      std::uint8_t changed[kBlockRows];
      for (std::size_t i = 0; i < kBlockRows; ++i) {
        const int there = kAdd ? from[i] : from[i] & ~mask[i];
        changed[i] = static_cast<std::uint8_t>(there + (value & mask[i]));
      }
      StoreBlock(changed, values.size(), block, values.data());
    }
  }
};

}  // namespace

// Even at 512 bits, compilers expand a word's bits in two halves, and reading them back as one vector stalls
// longer than working in halves.
VectorLevel ForSpread(VectorLevel level) { return std::min(level, VectorLevel::kAvx2); }

std::uint8_t MaxByte(std::span<const std::uint8_t> values, VectorLevel level) {
  return RunVectorized<HighestByte>(level, values);
}

std::uint8_t MaxByte(std::span<const std::uint8_t> values, const RowSet& feasible, VectorLevel level) {
  return RunVectorized<HighestByte>(ForSpread(level), values, feasible.blocks(values.size()));
}

void ScaleBytes(std::span<std::uint8_t> values, std::uint8_t maximum, bool reverse, VectorLevel level) {
  RunVectorized<ScaledBytes>(level, values, std::uint32_t{maximum}, reverse);
}

WideRange RangeOf(std::span<const std::int64_t> values, const RowSet& feasible, VectorLevel level) {
  return RunVectorized<Range>(level, values, feasible.blocks(values.size()));
}

void ScaleWide(std::span<const std::int64_t> values, const RowSet& feasible, std::int64_t maximum,
               bool reverse, std::span<std::uint8_t> out, VectorLevel level) {
  RunVectorized<ScaledWide>(level, values, feasible.blocks(values.size()), maximum, reverse, out);
}

std::uint64_t LowestBytes(std::span<const std::int64_t> values, const RowSet& feasible,
                          std::span<std::uint8_t> out, VectorLevel level) {
  return RunVectorized<Lowest>(level, values, feasible.blocks(values.size()), out);
}

void SetBytes(std::span<std::uint8_t> values, const RowSet& rows, std::uint8_t value, VectorLevel level) {
  RunVectorized<Marked<false>>(ForSpread(level), values, rows.blocks(values.size()), value);
}

void AddToBytes(std::span<std::uint8_t> values, const RowSet& rows, std::uint8_t value, VectorLevel level) {
  RunVectorized<Marked<true>>(ForSpread(level), values, rows.blocks(values.size()), value);
}

}  // namespace berth::framework
