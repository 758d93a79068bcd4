#include "scheduler/record/packed_scores.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.hpp"
#include "testing/vector_levels.hpp"

namespace berth::record {
namespace {

// Scores of rows; one in eight is not feasible and has one of `others`.
struct Column {
  Column(std::size_t rows, std::vector<std::uint8_t> values, std::vector<std::uint8_t> others,
         std::uint64_t seed)
      : feasible(rows) {
    Random random(seed);
    for (std::size_t row = 0; row < rows; ++row) {
      const bool is_feasible = random.Below(8) != 0;
      if (is_feasible) feasible.Add(row);
      scores.push_back(is_feasible ? values[random.Below(values.size())]
                                   : others[random.Below(others.size())]);
    }
  }
  std::vector<std::uint8_t> scores;
  RowSet feasible;
};

std::vector<std::uint8_t> UpTo(std::uint8_t first, std::uint8_t last) {
  std::vector<std::uint8_t> values;
  for (int value = first; value <= last; ++value) values.push_back(static_cast<std::uint8_t>(value));
  return values;
}

void ExpectPacked(const Column& column, ScoreCode code, VectorLevel level) {
  const std::size_t rows = column.scores.size();
  std::vector<std::uint64_t> words(code.WordsFor(rows));
  Pack(column.scores, code, words, level);
  const PackedScores packed(code, words);
  EXPECT_EQ(packed.Bytes(), (rows + 63) / 64 * 8 * code.bits);
  column.feasible.ForEach([&](std::size_t row) { ASSERT_EQ(packed[row], column.scores[row]) << row; });
}

TEST(PackedScores, EveryFeasibleRowKeepsItsScoreInTheFewestBits) {
  const struct {
    const char* name;
    std::vector<std::uint8_t> values;
    ScoreCode code;
  } cases[] = {
      {"one score", {37}, {37, 0, 0}},
      {"no points", {0}, {0, 0, 0}},
      {"two far apart", {0, 100}, {0, 100, 1}},
      {"two adjacent", {75, 76}, {75, 1, 1}},
      {"three", {98, 99, 100}, {98, 1, 2}},
      {"four", {96, 97, 98, 99}, {96, 1, 2}},
      {"three with a gap", {50, 51, 54}, {50, 1, 4}},
      {"sixteen", UpTo(60, 75), {60, 1, 4}},
      {"seventeen", UpTo(60, 76), {0, 1, 8}},
      {"all scores", UpTo(0, 100), {0, 1, 8}},
      {"all bytes", UpTo(0, 255), {0, 1, 8}},
  };
  for (const auto& test : cases) {
    for (const auto& others : {UpTo(0, 255), test.values}) {
      for (const std::size_t rows : {1000UL, 64UL * 20, 64UL * 20 + 1, 64UL * 20 - 1}) {
        const Column column(rows, test.values, others, rows);
        for (const VectorLevel level : berth::testing::RunnableLevels()) {
          SCOPED_TRACE(::testing::Message() << test.name << ", " << rows << " rows, level " << int(level));
          const ScoreCode code = NarrowestCode(column.scores, column.feasible, level);
          EXPECT_EQ(code, test.code);
          ExpectPacked(column, code, level);
        }
      }
    }
  }
}

TEST(PackedScores, AnyNumberOfRowsCanBePacked) {
  for (std::size_t rows = 0; rows <= 200; ++rows) {
    for (const std::uint8_t most : {0, 1, 3, 15, 100}) {
      const Column column(rows, UpTo(0, most), UpTo(0, 255), rows + most);
      for (const VectorLevel level : berth::testing::RunnableLevels()) {
        SCOPED_TRACE(::testing::Message()
                     << rows << " rows, up to " << int(most) << ", level " << int(level));
        ExpectPacked(column, NarrowestCode(column.scores, column.feasible, level), level);
      }
    }
  }
}

TEST(PackedScores, WithoutFeasibleRowsNothingIsStored) {
  const std::vector<std::uint8_t> scores(100, 7);
  EXPECT_EQ(NarrowestCode(scores, RowSet(100)).bits, 0);
  EXPECT_EQ(NarrowestCode({}, RowSet()).bits, 0);
  EXPECT_EQ(PackedScores()[4711], 0);
}

}  // namespace
}  // namespace berth::record
