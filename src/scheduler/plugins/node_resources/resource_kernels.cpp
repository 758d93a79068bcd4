#include "scheduler/plugins/node_resources/resource_kernels.hpp"

#include <algorithm>
#include <bit>

#include "base/wrap.hpp"

namespace berth::plugins {
namespace {

using Word = RowSet::Word;

BERTH_KERNEL const std::int64_t* BlockOf(std::span<const std::int64_t> column, std::size_t block,
                                         std::int64_t* padding) {
  return berth::BlockOf(column.data(), column.size(), block, padding);
}

// Whether a block has so few rows that evaluating them one by one is cheaper, as after few changes.
BERTH_KERNEL bool AreFew(Word rows) {
  rows &= rows - 1;
  rows &= rows - 1;
  rows &= rows - 1;
  return rows == 0;
}

// Calls visit(row) for each row of a block's word.
template <class Visit>
BERTH_KERNEL void ForEachIn(Word rows, std::size_t block, Visit visit) {
  for (; rows != 0; rows &= rows - 1)
    visit(block * kBlockRows + static_cast<std::size_t>(std::countr_zero(rows)));
}

// Truncates towards zero. For numbers too large for the kernel, whose results are discarded, the value is
// unspecified but not a trap (Annex F of C); an additional check would cost a tenth of the decision.
#if defined(__clang__)
[[clang::no_sanitize("float-cast-overflow")]]
#endif
BERTH_KERNEL std::int32_t Truncated(double percentage) {
  return static_cast<std::int32_t>(percentage) & 0xff;  // a percentage fits in 8 bits
}

// --- insufficient resources ---

struct Insufficient {
  template <VectorLevel>
  BERTH_KERNEL void Run(std::int64_t request, std::span<const std::int64_t> allocatable,
                        std::span<const std::int64_t> requested, RowSet::Blocks candidates, Word* out,
                        Word* never) {
    std::int64_t padding[2][kBlockRows];
    for (std::size_t block = candidates.First(); block < candidates.size(); block = candidates.Next(block)) {
      if (AreFew(candidates[block])) {
        ForEachIn(candidates[block], block, [&](std::size_t row) __attribute__((always_inline)) {
          const Word lacking = Word{request > WrapSub(allocatable[row], requested[row])}
                               << (row % kBlockRows);
          out[block] |= lacking;
          if (request > allocatable[row]) never[block] |= lacking;
        });
        continue;
      }
      const std::int64_t* capacity = BlockOf(allocatable, block, padding[0]);
      const std::int64_t* used = BlockOf(requested, block, padding[1]);
      Word lacking = 0;
      for (std::size_t i = 0; i < kBlockRows; ++i)
        lacking |= Word{request > WrapSub(capacity[i], used[i])} << i;
      lacking &= candidates[block];
      if (lacking == 0) continue;
      Word beyond = 0;
      for (std::size_t i = 0; i < kBlockRows; ++i) beyond |= Word{request > capacity[i]} << i;
      out[block] |= lacking;
      never[block] |= lacking & beyond;
    }
  }
};

struct Crowded {
  template <VectorLevel>
  BERTH_KERNEL void Run(std::span<const std::int64_t> pods, std::span<const std::int64_t> allowed,
                        RowSet::Blocks candidates, Word* out) {
    std::int64_t padding[2][kBlockRows];
    for (std::size_t block = candidates.First(); block < candidates.size(); block = candidates.Next(block)) {
      if (AreFew(candidates[block])) {
        ForEachIn(candidates[block], block, [&](std::size_t row) __attribute__((always_inline)) {
          out[block] |= Word{pods[row] >= allowed[row]} << (row % kBlockRows);
        });
        continue;
      }
      const std::int64_t* there = BlockOf(pods, block, padding[0]);
      const std::int64_t* most = BlockOf(allowed, block, padding[1]);
      Word crowded = 0;
      for (std::size_t i = 0; i < kBlockRows; ++i) crowded |= Word{there[i] >= most[i]} << i;
      out[block] |= crowded & candidates[block];
    }
  }
};

// --- allocation score ---

// Percentages are divided as doubles. base/percent.hpp proves this exact for part * 100 and whole below 2^52,
// which numbers below 2^45 satisfy.
constexpr int kPercentBits = 45;

template <Allocation kStrategy>
struct WeightedShares {
  // The percentage of one resource in one row. Upper bits of `seen` are set if a number is too large.
  BERTH_KERNEL std::int32_t Share(std::int64_t whole, std::int64_t used, std::int64_t request,
                                  std::uint64_t& seen) {
    const std::int64_t requested = WrapAdd(used, request);
    const std::int64_t free = WrapSub(whole, requested);
    // Requests above the capacity: nothing is free, or everything is used.
    const std::int64_t part =
        kStrategy == Allocation::kLeast ? (free < 0 ? 0 : free) : (free < 0 ? whole : requested);
    const std::int64_t divisor = whole == 0 ? 1 : whole;
    seen |= static_cast<std::uint64_t>(whole | requested);
    return Truncated(SmallToDouble(part) * 100 / SmallToDouble(divisor));
  }

  // Adds the weighted percentages of one resource. Upper bits of `wide` are set if a number is too large;
  // `missing` is set if a row lacks the resource.
  BERTH_KERNEL void AddShare(const ResourceAxis& axis, const std::int64_t* __restrict capacity,
                             const std::int64_t* __restrict used, std::int32_t* __restrict sums,
                             std::uint64_t& wide, bool& missing) {
    std::uint64_t seen = 0;
    std::uint64_t none = 0;
    const auto weight = static_cast<std::int32_t>(axis.weight);
    for (std::size_t i = 0; i < kBlockRows; ++i) {
      none |= static_cast<std::uint64_t>(capacity[i] == 0);
      sums[i] += weight * Share(capacity[i], used[i], axis.request, seen);
    }
    wide |= seen;
    missing = missing || none != 0;
  }

  // In rows that lack a resource, the divisor is the sum of the other weights.
  BERTH_KERNEL void DivideByPresent(std::span<const ResourceAxis> axes, std::size_t block,
                                    std::int32_t* __restrict sums) {
    std::int64_t padding[kBlockRows];
    std::int32_t weights[kBlockRows] = {};
    for (const ResourceAxis& axis : axes) {
      const std::int64_t* capacity = BlockOf(axis.capacity, block, padding);
      const auto weight = static_cast<std::int32_t>(axis.weight);
      for (std::size_t i = 0; i < kBlockRows; ++i) weights[i] += capacity[i] == 0 ? 0 : weight;
    }
    for (std::size_t i = 0; i < kBlockRows; ++i) sums[i] = weights[i] == 0 ? 0 : sums[i] / weights[i];
  }

  // Returns false if a number is too large.
  BERTH_KERNEL bool Row(std::span<const ResourceAxis> axes, std::size_t row, std::uint8_t& out) {
    std::uint64_t wide = 0;
    std::int32_t sum = 0;
    std::int32_t weights = 0;
    for (const ResourceAxis& axis : axes) {
      const auto weight = static_cast<std::int32_t>(axis.weight);
      sum += weight * Share(axis.capacity[row], axis.used[row], axis.request, wide);
      weights += axis.capacity[row] == 0 ? 0 : weight;
    }
    out = static_cast<std::uint8_t>(weights == 0 ? 0 : sum / weights);
    return wide >> kPercentBits == 0;
  }

  template <VectorLevel>
  BERTH_KERNEL void Run(std::span<const ResourceAxis> axes, RowSet::Blocks feasible,
                        std::span<std::uint8_t> out, Word* left) {
    std::int64_t padding[2][kBlockRows];
    std::int32_t total_weight = 0;
    for (const ResourceAxis& axis : axes) total_weight += static_cast<std::int32_t>(axis.weight);
    // Multiplication by the reciprocal is exact: n / d and its floor k differ from k + 1 by at least 1 / d,
    // so (n + 1/2) / d differs from k and from k + 1 by at least 1 / (2d). Two roundings change it by less
    // than (n + 1/2) / d * 2^-51, which is less than 1 / (2d) for n < 2^50.
    const double reciprocal = 1.0 / static_cast<double>(total_weight);
    for (std::size_t block = feasible.First(); block < feasible.size(); block = feasible.Next(block)) {
      if (AreFew(feasible[block])) {
        ForEachIn(feasible[block], block, [&](std::size_t row) __attribute__((always_inline)) {
          if (!Row(axes, row, out[row])) left[block] |= Word{1} << (row % kBlockRows);
        });
        continue;
      }
      std::int32_t sums[kBlockRows] = {};
      std::uint64_t wide = 0;
      bool missing = false;
      for (const ResourceAxis& axis : axes) {
        AddShare(axis, BlockOf(axis.capacity, block, padding[0]), BlockOf(axis.used, block, padding[1]), sums,
                 wide, missing);
      }
      if (wide >> kPercentBits != 0) {
        left[block] |= feasible[block];
        continue;
      }
      if (missing) {
        DivideByPresent(axes, block, sums);
      } else if (total_weight > 1) {
        for (std::size_t i = 0; i < kBlockRows; ++i)
          sums[i] = static_cast<std::int32_t>((static_cast<double>(sums[i]) + 0.5) * reciprocal);
      }
      std::uint8_t bytes[kBlockRows];
      for (std::size_t i = 0; i < kBlockRows; ++i) bytes[i] = static_cast<std::uint8_t>(sums[i]);
      StoreBlock(bytes, out.size(), block, out.data());
    }
  }
};

// --- balance score ---

struct Balance {
  BERTH_KERNEL double Fraction(std::int64_t used, double capacity) {
    const double fraction = SmallToDouble(used) / capacity;
    return fraction > 1 ? 1 : fraction;
  }
  BERTH_KERNEL std::int32_t Evenness(double a, double b) {
    return Truncated((1 - __builtin_fabs((a - b) / 2)) * 100);
  }

  // Upper bits of `wide` are set if a number is too large.
  BERTH_KERNEL std::int32_t Row(std::int64_t request_a, std::int64_t request_b, std::int64_t capacity_a,
                                std::int64_t used_a, std::int64_t capacity_b, std::int64_t used_b,
                                std::uint64_t& wide) {
    const std::int64_t sum_a = WrapAdd(used_a, request_a);
    const std::int64_t sum_b = WrapAdd(used_b, request_b);
    wide |= static_cast<std::uint64_t>(capacity_a | used_a | sum_a | capacity_b | used_b | sum_b);
    const double whole_a = SmallToDouble(capacity_a == 0 ? 1 : capacity_a);
    const double whole_b = SmallToDouble(capacity_b == 0 ? 1 : capacity_b);
    const std::int32_t with_pod = Evenness(Fraction(sum_a, whole_a), Fraction(sum_b, whole_b));
    const std::int32_t without_pod = Evenness(Fraction(used_a, whole_a), Fraction(used_b, whole_b));
    // Rows that lack one of the resources count as balanced with and without the pod. The sum is not
    // negative.
    const bool both = (capacity_a != 0) & (capacity_b != 0);
    return 50 + ((50 + (both ? with_pod - without_pod : 0)) >> 1);
  }

  BERTH_KERNEL std::uint64_t Block(std::int64_t request_a, std::int64_t request_b,
                                   const std::int64_t* __restrict capacity_a,
                                   const std::int64_t* __restrict used_a,
                                   const std::int64_t* __restrict capacity_b,
                                   const std::int64_t* __restrict used_b, std::int32_t* __restrict out) {
    std::uint64_t wide = 0;
    for (std::size_t i = 0; i < kBlockRows; ++i)
      out[i] = Row(request_a, request_b, capacity_a[i], used_a[i], capacity_b[i], used_b[i], wide);
    return wide;
  }

  template <VectorLevel>
  BERTH_KERNEL void Run(const ResourceAxis* a, const ResourceAxis* b, RowSet::Blocks feasible,
                        std::span<std::uint8_t> out, Word* left) {
    std::int64_t padding[4][kBlockRows];
    for (std::size_t block = feasible.First(); block < feasible.size(); block = feasible.Next(block)) {
      if (AreFew(feasible[block])) {
        ForEachIn(feasible[block], block, [&](std::size_t row) __attribute__((always_inline)) {
          std::uint64_t seen = 0;
          out[row] = static_cast<std::uint8_t>(Row(a->request, b->request, a->capacity[row], a->used[row],
                                                   b->capacity[row], b->used[row], seen));
          if (seen >> kSmallBits != 0) left[block] |= Word{1} << (row % kBlockRows);
        });
        continue;
      }
      std::int32_t scores[kBlockRows];
      const std::uint64_t wide =
          Block(a->request, b->request, BlockOf(a->capacity, block, padding[0]),
                BlockOf(a->used, block, padding[1]), BlockOf(b->capacity, block, padding[2]),
                BlockOf(b->used, block, padding[3]), scores);
      if (wide >> kSmallBits != 0) {
        left[block] |= feasible[block];
        continue;
      }
      std::uint8_t bytes[kBlockRows];
      for (std::size_t i = 0; i < kBlockRows; ++i) bytes[i] = static_cast<std::uint8_t>(scores[i]);
      StoreBlock(bytes, out.size(), block, out.data());
    }
  }
};

}  // namespace

void AddInsufficient(std::int64_t request, std::span<const std::int64_t> allocatable,
                     std::span<const std::int64_t> requested, const RowSet& candidates, RowSet& out,
                     RowSet& never, VectorLevel level) {
  RunVectorized<Insufficient>(level, request, allocatable, requested, candidates.blocks(allocatable.size()),
                              out.MutableWords(candidates), never.MutableWords(candidates));
}

void AddCrowded(std::span<const std::int64_t> pods, std::span<const std::int64_t> allowed,
                const RowSet& candidates, RowSet& out, VectorLevel level) {
  RunVectorized<Crowded>(level, pods, allowed, candidates.blocks(pods.size()), out.MutableWords(candidates));
}

void ScoreAllocation(Allocation strategy, std::span<const ResourceAxis> axes, const RowSet& feasible,
                     std::span<std::uint8_t> out, RowSet& left, VectorLevel level) {
  const auto words = feasible.blocks(out.size());
  if (strategy == Allocation::kLeast) {
    RunVectorized<WeightedShares<Allocation::kLeast>>(level, axes, words, out, left.MutableWords(feasible));
  } else {
    RunVectorized<WeightedShares<Allocation::kMost>>(level, axes, words, out, left.MutableWords(feasible));
  }
}

void ScoreBalance(const ResourceAxis& a, const ResourceAxis& b, const RowSet& feasible,
                  std::span<std::uint8_t> out, RowSet& left, VectorLevel level) {
  RunVectorized<Balance>(level, &a, &b, feasible.blocks(out.size()), out, left.MutableWords(feasible));
}

}  // namespace berth::plugins
