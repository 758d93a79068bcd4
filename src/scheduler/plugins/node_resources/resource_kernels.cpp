#include "scheduler/plugins/node_resources/resource_kernels.hpp"

#include <algorithm>
#include <bit>

#include "base/reciprocal.hpp"
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

// The reciprocals of a block of capacities; 0 of a capacity of 0.
BERTH_KERNEL const double* InverseOf(const ResourceAxis& axis, const std::int64_t* __restrict capacity,
                                     std::size_t block, double* __restrict padding) {
  if (!axis.inverse.empty()) return berth::BlockOf(axis.inverse.data(), axis.inverse.size(), block, padding);
  for (std::size_t i = 0; i < kBlockRows; ++i) padding[i] = SmallInverse(capacity[i]);
  return padding;
}
BERTH_KERNEL double InverseOf(const ResourceAxis& axis, std::size_t row) {
  return axis.inverse.empty() ? SmallInverse(axis.capacity[row]) : axis.inverse[row];
}

// One block of a resource's columns.
struct AxisBlock {
  struct Padding {
    std::int64_t capacity[kBlockRows], used[kBlockRows];
    double inverse[kBlockRows];
  };
  const std::int64_t* capacity;
  const double* inverse;
  const std::int64_t* used;
  std::int64_t request;
};
BERTH_KERNEL AxisBlock BlockOf(const ResourceAxis& axis, std::size_t block, AxisBlock::Padding& padding) {
  const std::int64_t* capacity = BlockOf(axis.capacity, block, padding.capacity);
  return {.capacity = capacity,
          .inverse = InverseOf(axis, capacity, block, padding.inverse),
          .used = BlockOf(axis.used, block, padding.used),
          .request = axis.request};
}

// What the numbers of a block have in common.
struct BlockBits {
  std::uint64_t numbers = 0;     // upper bits are set if one is too large, or negative
  std::uint64_t capacities = 0;  // of each, minus 1: the sign is set if one is zero

  bool AllBelow(int bits) const { return numbers >> bits == 0; }
  bool any_zero() const { return capacities >> 63 != 0; }
};

// --- allocation score ---

template <Allocation kStrategy>
struct WeightedShares {
  // The percentage of one resource in one row.
  template <VectorLevel kLevel>
  BERTH_KERNEL std::int32_t Share(std::int64_t whole, double inverse, std::int64_t used, std::int64_t request,
                                  BlockBits& seen) {
    const std::int64_t requested = WrapAdd(used, request);
    const std::int64_t free = WrapSub(whole, requested);
    // Requests above the capacity: nothing is free, or everything is used.
    const std::int64_t part =
        kStrategy == Allocation::kLeast ? (free < 0 ? 0 : free) : (free < 0 ? whole : requested);
    seen.numbers |= static_cast<std::uint64_t>(whole | requested);
    seen.capacities |= static_cast<std::uint64_t>(whole) - 1;
    return Truncated(PercentBeforeTruncation(SmallToDouble<kLevel>(part), inverse));
  }

  // The percentages of two resources with equal weights, as by default.
  template <VectorLevel kLevel>
  BERTH_KERNEL BlockBits AddPair(const AxisBlock& a, const AxisBlock& b, std::int32_t* __restrict sums) {
    BlockBits seen;
    for (std::size_t i = 0; i < kBlockRows; ++i) {
      sums[i] = Share<kLevel>(a.capacity[i], a.inverse[i], a.used[i], a.request, seen) +
                Share<kLevel>(b.capacity[i], b.inverse[i], b.used[i], b.request, seen);
    }
    return seen;
  }
  template <VectorLevel kLevel>
  BERTH_KERNEL void AddWeighted(const AxisBlock& of, std::int32_t weight, std::int32_t* __restrict sums,
                                BlockBits& seen_before) {
    BlockBits seen;
    for (std::size_t i = 0; i < kBlockRows; ++i)
      sums[i] += weight * Share<kLevel>(of.capacity[i], of.inverse[i], of.used[i], of.request, seen);
    seen_before.numbers |= seen.numbers;
    seen_before.capacities |= seen.capacities;
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
  template <VectorLevel kLevel>
  BERTH_KERNEL bool Row(std::span<const ResourceAxis> axes, std::size_t row, std::uint8_t& out) {
    BlockBits seen;
    std::int32_t sum = 0;
    std::int32_t weights = 0;
    for (const ResourceAxis& axis : axes) {
      const auto weight = static_cast<std::int32_t>(axis.weight);
      sum += weight *
             Share<kLevel>(axis.capacity[row], InverseOf(axis, row), axis.used[row], axis.request, seen);
      weights += axis.capacity[row] == 0 ? 0 : weight;
    }
    out = static_cast<std::uint8_t>(weights == 0 ? 0 : sum / weights);
    return seen.AllBelow(kPercentBits);
  }

  template <VectorLevel kLevel>
  BERTH_KERNEL void Run(std::span<const ResourceAxis> axes, RowSet::Blocks feasible,
                        std::span<std::uint8_t> out, Word* left) {
    AxisBlock::Padding padding[2];
    std::int32_t total_weight = 0;
    for (const ResourceAxis& axis : axes) total_weight += static_cast<std::int32_t>(axis.weight);
    const bool is_pair = axes.size() == 2 && axes[0].weight == axes[1].weight;
    const std::int32_t pair_weight = is_pair ? total_weight / 2 : 1;
    const double reciprocal = 1.0 / static_cast<double>(total_weight);
    for (std::size_t block = feasible.First(); block < feasible.size(); block = feasible.Next(block)) {
      if (AreFew(feasible[block])) {
        ForEachIn(feasible[block], block, [&](std::size_t row) __attribute__((always_inline)) {
          if (!Row<kLevel>(axes, row, out[row])) left[block] |= Word{1} << (row % kBlockRows);
        });
        continue;
      }
      std::int32_t sums[kBlockRows] = {};
      BlockBits seen;
      if (is_pair) {
        seen =
            AddPair<kLevel>(BlockOf(axes[0], block, padding[0]), BlockOf(axes[1], block, padding[1]), sums);
      } else {
        for (const ResourceAxis& axis : axes) {
          AddWeighted<kLevel>(BlockOf(axis, block, padding[0]), static_cast<std::int32_t>(axis.weight), sums,
                              seen);
        }
      }
      if (!seen.AllBelow(kPercentBits)) {
        left[block] |= feasible[block];
        continue;
      }
      if (seen.any_zero()) {
        for (std::size_t i = 0; i < kBlockRows; ++i) sums[i] *= pair_weight;
        DivideByPresent(axes, block, sums);
      } else if (is_pair) {
        for (std::size_t i = 0; i < kBlockRows; ++i) sums[i] >>= 1;
      } else if (total_weight > 1) {
        for (std::size_t i = 0; i < kBlockRows; ++i)
          sums[i] =
              static_cast<std::int32_t>(FloorBeforeTruncation(static_cast<double>(sums[i]), reciprocal));
      }
      std::uint8_t bytes[kBlockRows];
      for (std::size_t i = 0; i < kBlockRows; ++i) bytes[i] = static_cast<std::uint8_t>(sums[i]);
      StoreBlock(bytes, out.size(), block, out.data());
    }
  }
};

// --- balance score ---

struct Balance {
  template <VectorLevel kLevel>
  BERTH_KERNEL double Fraction(std::int64_t used, double capacity, double inverse) {
    const double fraction = SmallQuotient<kLevel>(SmallToDouble<kLevel>(used), capacity, inverse);
    return fraction > 1 ? 1 : fraction;
  }
  // Half of a number has no rounding error, so the fused subtraction rounds as the separate one.
  template <VectorLevel kLevel>
  BERTH_KERNEL std::int32_t Evenness(double a, double b) {
    const double difference = __builtin_fabs(a - b);
    return Truncated((kHasFusedMultiply<kLevel> ? __builtin_fma(difference, -0.5, 1.0) : 1 - difference / 2) *
                     100);
  }

  // The numbers of one resource in one row.
  struct Number {
    std::int64_t capacity;
    double inverse;
    std::int64_t used, request;
  };
  template <VectorLevel kLevel>
  BERTH_KERNEL std::int32_t Row(const Number& a, const Number& b, BlockBits& seen) {
    const std::int64_t sum_a = WrapAdd(a.used, a.request);
    const std::int64_t sum_b = WrapAdd(b.used, b.request);
    seen.numbers |= static_cast<std::uint64_t>(a.capacity | a.used | sum_a);
    seen.numbers |= static_cast<std::uint64_t>(b.capacity | b.used | sum_b);
    const double whole_a = SmallToDouble<kLevel>(a.capacity);
    const double whole_b = SmallToDouble<kLevel>(b.capacity);
    const std::int32_t with_pod = Evenness<kLevel>(Fraction<kLevel>(sum_a, whole_a, a.inverse),
                                                   Fraction<kLevel>(sum_b, whole_b, b.inverse));
    const std::int32_t without_pod = Evenness<kLevel>(Fraction<kLevel>(a.used, whole_a, a.inverse),
                                                      Fraction<kLevel>(b.used, whole_b, b.inverse));
    // Rows that lack one of the resources count as balanced with and without the pod. The sum is not
    // negative.
    const bool both = (a.capacity != 0) & (b.capacity != 0);
    return 50 + ((50 + (both ? with_pod - without_pod : 0)) >> 1);
  }

  template <VectorLevel kLevel>
  BERTH_KERNEL BlockBits Block(const AxisBlock& a, const AxisBlock& b, std::int32_t* __restrict out) {
    BlockBits seen;
    for (std::size_t i = 0; i < kBlockRows; ++i) {
      out[i] = Row<kLevel>({a.capacity[i], a.inverse[i], a.used[i], a.request},
                           {b.capacity[i], b.inverse[i], b.used[i], b.request}, seen);
    }
    return seen;
  }

  template <VectorLevel kLevel>
  BERTH_KERNEL void Run(const ResourceAxis* a, const ResourceAxis* b, RowSet::Blocks feasible,
                        std::span<std::uint8_t> out, Word* left) {
    AxisBlock::Padding padding[2];
    for (std::size_t block = feasible.First(); block < feasible.size(); block = feasible.Next(block)) {
      if (AreFew(feasible[block])) {
        ForEachIn(feasible[block], block, [&](std::size_t row) __attribute__((always_inline)) {
          BlockBits seen;
          out[row] = static_cast<std::uint8_t>(
              Row<kLevel>({a->capacity[row], InverseOf(*a, row), a->used[row], a->request},
                          {b->capacity[row], InverseOf(*b, row), b->used[row], b->request}, seen));
          if (!seen.AllBelow(kQuotientBits)) left[block] |= Word{1} << (row % kBlockRows);
        });
        continue;
      }
      std::int32_t scores[kBlockRows];
      const BlockBits seen =
          Block<kLevel>(BlockOf(*a, block, padding[0]), BlockOf(*b, block, padding[1]), scores);
      if (!seen.AllBelow(kQuotientBits)) {
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
