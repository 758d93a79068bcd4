#include "scheduler/framework/score_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.hpp"
#include "base/wrap.hpp"
#include "scheduler/framework/plugin.hpp"
#include "testing/vector_levels.hpp"

namespace berth::framework {
namespace {

using berth::testing::RunnableLevels;

RowSet RandomRows(std::size_t rows, Random& random) {
  RowSet set(rows);
  const std::uint64_t share = random.Below(5);
  for (std::size_t row = 0; row < rows; ++row) {
    if (random.Below(4) < share) set.Add(row);
  }
  return set;
}

// Sizes near those of blocks and vectors.
std::size_t RandomSize(Random& random) {
  return random.Below(2) == 0 ? 1 + random.Below(200) : 64 * (1 + random.Below(3));
}

std::int64_t Scaled(std::int64_t value, std::int64_t maximum, bool reverse) {
  const std::int64_t scaled = WrapMul(100, value) / maximum;
  return reverse ? 100 - scaled : scaled;
}

TEST(ScoreKernels, BytesAreScaledAsByDivisionForEveryMaximumAndValue) {
  for (const VectorLevel level : RunnableLevels()) {
    for (int maximum = 1; maximum <= 255; ++maximum) {
      for (const bool reverse : {false, true}) {
        std::vector<std::uint8_t> values(256);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i);
        ScaleBytes(values, static_cast<std::uint8_t>(maximum), reverse, level);
        for (int i = 0; i <= maximum; ++i)
          ASSERT_EQ(values[static_cast<std::size_t>(i)], Scaled(i, maximum, reverse)) << i << "/" << maximum;
      }
    }
  }
}

TEST(ScoreKernels, WideValuesAreScaledAsByDivision) {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t rows = RandomSize(random);
    const RowSet feasible = RandomRows(rows, random);
    const std::int64_t maximum =
        1 + static_cast<std::int64_t>(random.Next() >> (64 - kScaleBits + random.Below(kScaleBits)));
    if (maximum >> kScaleBits != 0) continue;
    std::vector<std::int64_t> values(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      // Values with an integral or nearly integral quotient.
      const auto near = maximum / 100 * static_cast<std::int64_t>(random.Below(101)) +
                        static_cast<std::int64_t>(random.Below(3)) - 1;
      const auto any = static_cast<std::int64_t>(random.Unit() * static_cast<double>(maximum));
      values[row] = feasible.Has(row)
                        ? std::clamp(random.Below(2) == 0 ? near : any, std::int64_t{0}, maximum)
                        : static_cast<std::int64_t>(random.Next());
    }
    for (const VectorLevel level : RunnableLevels()) {
      const bool reverse = random.Below(2) == 0;
      std::vector<std::uint8_t> out(rows);
      ScaleWide(values, feasible, maximum, reverse, out, level);
      feasible.ForEach([&](std::size_t row) {
        ASSERT_EQ(out[row], Scaled(values[row], maximum, reverse)) << values[row] << " of " << maximum;
      });
    }
  }
}

TEST(ScoreKernels, InfeasibleRowsDoNotAffectResults) {
  Random random(2);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t rows = RandomSize(random);
    const RowSet feasible = RandomRows(rows, random);
    std::vector<std::int64_t> wide(rows);
    std::vector<std::uint8_t> bytes(rows);
    WideRange range;
    std::uint8_t highest = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      wide[row] = static_cast<std::int64_t>(random.Next()) >> random.Below(64);
      bytes[row] = static_cast<std::uint8_t>(random.Next());
      if (!feasible.Has(row)) continue;
      range.bits |= static_cast<std::uint64_t>(wide[row]);
      range.maximum = std::max(range.maximum, wide[row]);
      highest = std::max(highest, bytes[row]);
    }
    for (const VectorLevel level : RunnableLevels()) {
      EXPECT_EQ(RangeOf(wide, feasible, level).bits, range.bits);
      EXPECT_EQ(RangeOf(wide, feasible, level).maximum, range.maximum);
      EXPECT_EQ(MaxByte(bytes, feasible, level), highest);
      EXPECT_EQ(MaxByte(bytes, level), *std::ranges::max_element(bytes));
      std::vector<std::uint8_t> lowest(rows);
      EXPECT_EQ(LowestBytes(wide, feasible, lowest, level), range.bits);
      feasible.ForEach(
          [&](std::size_t row) { ASSERT_EQ(lowest[row], static_cast<std::uint8_t>(wide[row])); });
    }
  }
}

TEST(ScoreKernels, OnlyRowsOfTheSetAreChanged) {
  Random random(3);
  for (int round = 0; round < 1000; ++round) {
    const std::size_t rows = RandomSize(random);
    const RowSet marked = RandomRows(rows, random);
    const auto value = static_cast<std::uint8_t>(random.Below(100));
    for (const VectorLevel level : RunnableLevels()) {
      std::vector<std::uint8_t> set(rows, 9);
      std::vector<std::uint8_t> sum(rows, 9);
      SetBytes(set, marked, value, level);
      AddToBytes(sum, marked, value, level);
      for (std::size_t row = 0; row < rows; ++row) {
        ASSERT_EQ(set[row], marked.Has(row) ? value : 9);
        ASSERT_EQ(sum[row], marked.Has(row) ? value + 9 : 9);
      }
    }
  }
}

// --- columns in all representations ---

// Sets, adds, normalizes and shrinks at random, and does the same with plain numbers.
TEST(ScoreColumn, ResultsAreEqualInEveryRepresentation) {
  Random random(4);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t rows = RandomSize(random);
    const RowSet feasible = RandomRows(rows, random);
    ScoreColumn column;
    column.Reset(rows);
    std::vector<std::int64_t> plain(rows, 0);
    for (std::uint64_t step = random.Below(6); step > 0; --step) {
      const RowSet some = RandomRows(rows, random);
      RowGroup group;
      some.ForEach([&](std::size_t row) { group.Add(static_cast<std::uint32_t>(row)); });
      const std::int64_t values[] = {0, 1, 3, 100, 200, 255, 256, 70'000, -5, std::int64_t{1} << 50};
      const std::int64_t value = values[random.Below(10)];
      switch (random.Below(4)) {
        case 0:
          column.Set(some, value);
          some.ForEach([&](std::size_t row) { plain[row] = value; });
          break;
        case 1:
          column.Set(group, value);
          some.ForEach([&](std::size_t row) { plain[row] = value; });
          break;
        case 2:
          column.Add(some, value);
          some.ForEach([&](std::size_t row) { plain[row] += value; });
          break;
        default:
          column.SetAll(value);
          plain.assign(rows, value);
      }
      for (std::size_t row = 0; row < rows; ++row) ASSERT_EQ(column.At(row), plain[row]) << row;
    }
    if (random.Below(3) == 0) column.Mutable();
    const bool reverse = random.Below(2) == 0;
    if (random.Below(3) != 0) {
      NormalizeByMaximum(feasible, reverse, column);
      std::int64_t maximum = 0;
      feasible.ForEach([&](std::size_t row) { maximum = std::max(maximum, plain[row]); });
      for (std::int64_t& value : plain)
        value = maximum > 0 ? Scaled(value, maximum, reverse) : reverse ? 100 : value;
    }
    column.Shrink(feasible);
    bool bytes = !column.uniform();
    feasible.ForEach([&](std::size_t row) {
      ASSERT_EQ(column.At(row), plain[row]) << row;
      bytes = bytes && plain[row] >= 0 && plain[row] <= 255;
    });
    EXPECT_EQ(!column.bytes().empty(), bytes);
  }
}

TEST(ScoreColumn, BytesWithTheLimitOfScoresAreInRangeUntilALargerValueIsSet) {
  RowSet feasible(3);
  for (std::size_t row = 0; row < 3; ++row) feasible.Add(row);
  ScoreColumn column;
  column.Reset(3);
  std::ranges::fill(column.OverwriteBytes(), static_cast<std::uint8_t>(kMaxScore + 1));
  EXPECT_FALSE(column.ShrinkToScores(feasible));
  std::ranges::fill(column.OverwriteBytes(kMaxScore), static_cast<std::uint8_t>(kMaxScore));
  EXPECT_TRUE(column.ShrinkToScores(feasible));
  column.Add(feasible, 1);
  EXPECT_FALSE(column.ShrinkToScores(feasible));
}

}  // namespace
}  // namespace berth::framework
