#include "base/row_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>

#include "base/random.hpp"
#include "base/row_group.hpp"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr std::size_t kRows = 200;

std::vector<std::size_t> Members(const RowSet& set) {
  std::vector<std::size_t> rows;
  set.ForEach([&](std::size_t row) { rows.push_back(row); });
  return rows;
}

std::set<std::size_t> RandomRows(Random& random) {
  std::set<std::size_t> rows;
  for (std::uint64_t i = random.Below(120); i > 0; --i) rows.insert(random.Below(kRows));
  return rows;
}

// Sets with different capacities, depending on their highest members.
RowSet ToRowSet(const std::set<std::size_t>& rows) {
  RowSet set;
  for (const std::size_t row : rows) set.Add(row);
  return set;
}

std::set<std::size_t> Combined(const std::set<std::size_t>& a, const std::set<std::size_t>& b, auto&& keep) {
  std::set<std::size_t> out;
  for (std::size_t row = 0; row < kRows; ++row) {
    if (keep(a.contains(row), b.contains(row))) out.insert(row);
  }
  return out;
}

TEST(RowSet, AgreesWithStdSet) {
  Random random(1);
  for (int round = 0; round < 500; ++round) {
    const auto a = RandomRows(random);
    const auto b = RandomRows(random);
    RowSet both = ToRowSet(a);
    RowSet either = both;
    RowSet only = both;
    both &= ToRowSet(b);
    either |= ToRowSet(b);
    only -= ToRowSet(b);
    ASSERT_THAT(Members(both), ElementsAreArray(Combined(a, b, [](bool x, bool y) { return x && y; })))
        << round;
    ASSERT_THAT(Members(either), ElementsAreArray(Combined(a, b, [](bool x, bool y) { return x || y; })))
        << round;
    ASSERT_THAT(Members(only), ElementsAreArray(Combined(a, b, [](bool x, bool y) { return x && !y; })))
        << round;
    ASSERT_EQ(either.Count(), Members(either).size());
    ASSERT_EQ(ToRowSet(a) == ToRowSet(b), a == b);
    if (!a.empty()) {
      ASSERT_EQ(ToRowSet(a).First(), *a.begin());
    }
  }
}

// Reuses sets with few and with many rows, of tables that need several words of marks.
TEST(RowSet, AgreesWithStdSetForRandomSequencesOfOperations) {
  constexpr std::size_t kLarge = 10'000;
  Random random(3);
  const auto some_rows = [&](RowSet& set, std::set<std::size_t>& same) {
    const std::size_t most = random.Below(4) == 0 ? 9'000 : 6;
    const std::size_t begin = random.Below(kLarge - 300);
    for (std::uint64_t i = random.Below(most); i > 0; --i) {
      const std::size_t row = most == 6 ? random.Below(kLarge) : begin + i % 300;
      set.Add(row);
      same.insert(row);
    }
  };
  for (int run = 0; run < 60; ++run) {
    RowSet set(kLarge);
    std::set<std::size_t> same;
    for (int step = 0; step < 40; ++step) {
      RowSet other(random.Below(2) == 0 ? kLarge : 0);
      std::set<std::size_t> same_other;
      some_rows(other, same_other);
      switch (random.Below(7)) {
        case 0:
          set.Clear();
          same.clear();
          break;
        case 1:
          some_rows(set, same);
          break;
        case 2:
          set |= other;
          same.insert(same_other.begin(), same_other.end());
          break;
        case 3:
          set &= other;
          std::erase_if(same, [&](std::size_t row) { return !same_other.contains(row); });
          break;
        case 4:
          set -= other;
          std::erase_if(same, [&](std::size_t row) { return same_other.contains(row); });
          break;
        case 5:
          set = other;
          same = same_other;
          break;
        default:
          if (!same.empty()) {
            const std::size_t row = set.Nth(random.Below(same.size()));
            set.Remove(row);
            same.erase(row);
          }
      }
      ASSERT_THAT(Members(set), ElementsAreArray(same)) << run << " " << step;
      ASSERT_EQ(set.Count(), same.size());
      ASSERT_EQ(set.Empty(), same.empty());
      ASSERT_EQ(set.HasMoreThan(3), same.size() > 3);
      ASSERT_EQ(set.IsSubsetOf(other), std::ranges::includes(same_other, same));
      RowSet sum = other;
      sum |= set;
      ASSERT_TRUE(set.IsSubsetOf(sum));
      std::size_t in_blocks = 0;
      const RowSet::Blocks blocks = set.blocks();
      for (std::size_t i = blocks.First(); i < blocks.size(); i = blocks.Next(i))
        in_blocks += static_cast<std::size_t>(std::popcount(blocks[i]));
      ASSERT_EQ(in_blocks, same.size());
    }
  }
}

TEST(RowSet, WordsWrittenThroughAPointerAreMembers) {
  RowSet where(500);
  where.Add(130);
  RowSet set(500);
  set.MutableWords(where)[2] = 0b101;
  EXPECT_THAT(Members(set), ElementsAre(128, 130));
  set.MutableWords()[7] = 1;
  EXPECT_THAT(Members(set), ElementsAre(128, 130, 448));
  set &= where;
  EXPECT_THAT(Members(set), ElementsAre(130));
}

TEST(RowSet, BlocksEndWithTheColumn) {
  RowSet set(500);
  for (const std::size_t row : {3, 200, 499}) set.Add(row);
  const RowSet::Blocks blocks = set.blocks(210);
  std::vector<std::size_t> visited;
  for (std::size_t i = blocks.First(); i < blocks.size(); i = blocks.Next(i)) visited.push_back(i);
  EXPECT_THAT(visited, ElementsAre(0, 3));
}

TEST(RowSet, ShrinkingRemovesTheLastRows) {
  RowSet set(10'000);
  set.Add(5);
  set.Add(9'000);
  set.Resize(64);
  EXPECT_THAT(Members(set), ElementsAre(5));
  set.Resize(10'000);
  EXPECT_THAT(Members(set), ElementsAre(5));
}

TEST(RowSet, EqualsAnotherOfADifferentCapacity) {
  RowSet small(10);
  RowSet large(1000);
  small.Add(3);
  large.Add(3);
  EXPECT_TRUE(small == large);
  EXPECT_TRUE(large == small);
  large.Add(999);
  EXPECT_FALSE(small == large);
  EXPECT_FALSE(large == small);
}

TEST(RowSet, RowsBeyondTheCapacityAreNotMembersAndCanBeRemoved) {
  RowSet set(64);
  EXPECT_FALSE(set.Has(64));
  set.Remove(1000);
  EXPECT_TRUE(set.Empty());
}

TEST(RowSet, RowsAddedByResizeAreNotMembers) {
  RowSet set(64);
  set.Add(63);
  set.Resize(200);
  EXPECT_THAT(Members(set), ElementsAre(63));
}

TEST(RowSet, IntersectionWithASmallerSetRemovesTheRowsBeyondIt) {
  RowSet set;
  set.Add(5);
  set.Add(150);
  RowSet small(10);
  small.Add(5);
  set &= small;
  EXPECT_THAT(Members(set), ElementsAre(5));
}

// Crosses the threshold between list and bits in both directions.
TEST(RowGroup, AgreesWithStdSetWhileItGrowsAndShrinks) {
  Random random(2);
  for (int run = 0; run < 20; ++run) {
    RowGroup group;
    std::set<std::size_t> wanted;
    for (int step = 0; step < 300; ++step) {
      const auto row = static_cast<std::uint32_t>(random.Below(kRows));
      if (random.Below(3) == 0) {
        group.Remove(row);
        wanted.erase(row);
      } else {
        group.Add(row);
        wanted.insert(row);
      }
      ASSERT_EQ(group.Count(), wanted.size()) << "run " << run << " step " << step;
      ASSERT_EQ(group.Empty(), wanted.empty());
      ASSERT_EQ(group.Has(row), wanted.contains(row));
    }
    RowSet visited;
    group.ForEach([&](std::size_t row) { visited.Add(row); });
    EXPECT_THAT(Members(visited), ElementsAreArray(wanted));
  }
}

class RowGroupOfSize : public testing::TestWithParam<std::uint32_t> {};
TEST_P(RowGroupOfSize, CombinesWithSets) {
  RowGroup group;
  RowSet same;
  for (std::uint32_t i = 0; i < GetParam(); ++i) {
    group.Add(3 * i);
    same.Add(3 * i);
  }
  RowSet even(kRows);
  for (std::size_t row = 0; row < kRows; row += 2) even.Add(row);

  RowSet wanted = even;
  RowSet got = even;
  group.AddTo(got);
  wanted |= same;
  EXPECT_TRUE(got == wanted);

  wanted = got = even;
  group.RemoveFrom(got);
  wanted -= same;
  EXPECT_TRUE(got == wanted);

  wanted = got = even;
  RowSet scratch(kRows);
  scratch.Add(1);
  group.Restrict(got, scratch);
  wanted &= same;
  EXPECT_TRUE(got == wanted);
}
INSTANTIATE_TEST_SUITE_P(AsListAndAsBits, RowGroupOfSize, testing::Values(0, 1, 31, 32, 33, 60));

TEST(RowSet, NthSkipsThatManyMembers) {
  RowSet rows(300);
  const std::vector<std::size_t> members = {0, 1, 5, 63, 64, 127, 128, 200, 299};
  for (const std::size_t row : members) rows.Add(row);
  for (std::size_t i = 0; i < members.size(); ++i) EXPECT_EQ(rows.Nth(i), members[i]);
  EXPECT_EQ(rows.Count(), members.size());
  for (std::size_t row = 0; row < 300; ++row) rows.Add(row);
  EXPECT_EQ(rows.Count(), 300U);
  EXPECT_EQ(rows.Nth(257), 257U);
}

}  // namespace
}  // namespace berth
