#include "base/vectorized.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.hpp"

namespace berth {
namespace {

TEST(Blocks, ReadZerosBeyondTheEndAndWriteNothingThere) {
  std::vector<std::int64_t> column(70);
  for (std::size_t i = 0; i < column.size(); ++i) column[i] = static_cast<std::int64_t>(i) + 1;
  std::int64_t padding[kBlockRows];
  EXPECT_EQ(BlocksOf(64), 1u);
  EXPECT_EQ(BlocksOf(65), 2u);
  EXPECT_EQ(BlockOf(column.data(), column.size(), 0, padding), column.data());
  const std::int64_t* last = BlockOf(column.data(), column.size(), 1, padding);
  for (std::size_t i = 0; i < kBlockRows; ++i) EXPECT_EQ(last[i], i < 6 ? 65 + std::int64_t(i) : 0) << i;

  std::vector<std::int64_t> guarded(71, -1);
  const std::int64_t sevens[kBlockRows] = {7, 7, 7, 7, 7, 7, 7, 7};
  StoreBlock(sevens, 70, 1, guarded.data());
  EXPECT_EQ(guarded[63], -1);
  EXPECT_EQ(guarded[69], 7);
  EXPECT_EQ(guarded[70], -1);
}

TEST(SmallToDouble, ConvertsAllSmallIntegersExactly) {
  Random random(1);
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{1}, (std::int64_t{1} << 51) + 1, (std::int64_t{1} << 52) - 1})
    EXPECT_EQ(SmallToDouble(value), static_cast<double>(value)) << value;
  for (int round = 0; round < 100'000; ++round) {
    const auto value = static_cast<std::int64_t>(random.Next() >> (12 + random.Below(52)));
    ASSERT_EQ(SmallToDouble(value), static_cast<double>(value)) << value;
  }
}

TEST(SpreadBits, SetsOneBytePerBit) {
  Random random(1);
  for (int round = 0; round < 1000; ++round) {
    const std::uint64_t word = random.Next() & random.Next();
    std::uint8_t bytes[kBlockRows];
    SpreadBits(word, bytes);
    for (std::size_t i = 0; i < kBlockRows; ++i)
      ASSERT_EQ(bytes[i], (word >> i & 1) != 0 ? 0xff : 0) << word << " bit " << i;
  }
}

struct SumOfLevel {
  template <VectorLevel kLevel>
  BERTH_KERNEL std::pair<VectorLevel, std::int64_t> Run(const std::int64_t* values) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < kBlockRows; ++i) sum += values[i];
    return {kLevel, sum};
  }
};

TEST(RunVectorized, RunsTheVersionOfTheLevel) {
  std::int64_t values[kBlockRows];
  for (std::size_t i = 0; i < kBlockRows; ++i) values[i] = static_cast<std::int64_t>(i);
  for (const VectorLevel level : {VectorLevel::kBaseline, VectorLevel::kAvx2, VectorLevel::kAvx512}) {
    if (level > BestVectorLevel()) continue;
    EXPECT_EQ(RunVectorized<SumOfLevel>(level, static_cast<const std::int64_t*>(values)),
              std::pair(level, std::int64_t{2016}));
  }
}

}  // namespace
}  // namespace berth
