#include "scheduler/algorithm/totals.hpp"

#include <algorithm>
#include <cstddef>

namespace berth::algorithm {
namespace {

using Word = RowSet::Word;
using Blocks = RowSet::Blocks;

struct Weighted {
  template <VectorLevel>
  BERTH_KERNEL void Run(const std::uint8_t* from, std::size_t size, std::uint32_t weight,
                        std::int64_t* __restrict to) {
    const std::uint64_t factor = weight;
    for (std::size_t i = 0; i < size; ++i) {
      // 32 x 32 bits: a vector multiplication that every supported instruction set has.
      to[i] += static_cast<std::int64_t>(factor * std::uint64_t{std::uint32_t{from[i]}});
    }
  }
};

struct Best {
  template <VectorLevel>
  BERTH_KERNEL void Run(std::span<const std::int64_t> totals, Blocks feasible, Word* out) {
    std::int64_t padding[kBlockRows];
    std::int64_t best = INT64_MIN;
    for (std::size_t block = feasible.First(); block < feasible.size(); block = feasible.Next(block)) {
      const std::int64_t* from = BlockOf(totals.data(), totals.size(), block, padding);
      for (std::size_t i = 0; i < kBlockRows; ++i) {
        const std::int64_t mask = -static_cast<std::int64_t>((feasible[block] >> i) & 1);
        const std::int64_t total = (from[i] & mask) | (INT64_MIN & ~mask);
        best = total > best ? total : best;
      }
    }
    for (std::size_t block = feasible.First(); block < feasible.size(); block = feasible.Next(block)) {
      const std::int64_t* from = BlockOf(totals.data(), totals.size(), block, padding);
      Word equal = 0;
      for (std::size_t i = 0; i < kBlockRows; ++i) equal |= Word{from[i] == best} << i;
      out[block] |= equal & feasible[block];
    }
  }
};

// Few rows have the maximum, so bits are computed only for blocks that contain one.
struct BestByScores {
  BERTH_KERNEL std::uint16_t Highest(const std::uint16_t* values) {
    std::uint16_t highest = 0;
    for (std::size_t i = 0; i < kBlockRows; ++i) highest = values[i] > highest ? values[i] : highest;
    return highest;
  }
  BERTH_KERNEL bool Contains(const std::uint16_t* __restrict values, std::uint16_t wanted) {
    std::uint16_t found = 0;
    for (std::size_t i = 0; i < kBlockRows; ++i)
      found = static_cast<std::uint16_t>(found | (values[i] == wanted ? 1 : 0));
    return found != 0;
  }

  template <VectorLevel>
  BERTH_KERNEL void Run(std::span<const WeightedScores> parts, Blocks feasible, std::uint16_t* totals,
                        Word* out) {
    std::uint8_t padding[kBlockRows];
    std::uint16_t highest[kBlockRows] = {};
    for (std::size_t block = feasible.First(); block < feasible.size(); block = feasible.Next(block)) {
      std::uint16_t sums[kBlockRows] = {};
      for (const WeightedScores& part : parts) {
        const std::uint8_t* scores = BlockOf(part.scores.data(), part.scores.size(), block, padding);
        const auto weight = static_cast<std::uint16_t>(part.weight);
        for (std::size_t i = 0; i < kBlockRows; ++i)
          sums[i] = static_cast<std::uint16_t>(sums[i] + weight * scores[i]);
      }
      std::int8_t mask[kBlockRows];
      SpreadBits(feasible[block], mask);
      std::uint16_t* __restrict kept = totals + block * kBlockRows;
      for (std::size_t i = 0; i < kBlockRows; ++i) {
        const auto total = static_cast<std::uint16_t>(sums[i] & static_cast<std::uint16_t>(mask[i]));
        kept[i] = total;
        highest[i] = total > highest[i] ? total : highest[i];
      }
    }
    const std::uint16_t best = Highest(highest);
    for (std::size_t block = feasible.First(); block < feasible.size(); block = feasible.Next(block)) {
      const std::uint16_t* kept = totals + block * kBlockRows;
      if (!Contains(kept, best)) continue;
      Word equal = 0;
      for (std::size_t i = 0; i < kBlockRows; ++i) equal |= Word{kept[i] == best} << i;
      out[block] |= equal & feasible[block];
    }
  }
};

}  // namespace

void AddWeighted(std::span<const std::uint8_t> scores, std::uint32_t weight, std::span<std::int64_t> totals,
                 VectorLevel level) {
  RunVectorized<Weighted>(level, scores.data(), scores.size(), weight, totals.data());
}

void AddBest(std::span<const std::int64_t> totals, const RowSet& feasible, RowSet& best, VectorLevel level) {
  RunVectorized<Best>(level, totals, feasible.blocks(totals.size()), best.MutableWords(feasible));
}

bool AreLight(std::span<const WeightedScores> parts) {
  std::int64_t most = 0;
  for (const WeightedScores& part : parts) {
    if (part.weight < 0 || part.weight > UINT16_MAX) return false;
    most += part.weight * UINT8_MAX;
  }
  return most <= UINT16_MAX;
}

void AddBestByScores(std::span<const WeightedScores> parts, const RowSet& feasible, std::size_t rows,
                     std::vector<std::uint16_t>& totals, RowSet& best, VectorLevel level) {
  const auto words = feasible.blocks(rows);
  totals.resize(words.size() * kBlockRows);
  RunVectorized<BestByScores>(level, parts, words, totals.data(), best.MutableWords(feasible));
}

}  // namespace berth::algorithm
