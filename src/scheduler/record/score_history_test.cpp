#include "scheduler/record/score_history.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace berth::record {
namespace {

using ByPlugin = std::vector<std::vector<std::uint8_t>>;

ByPlugin Read(const ScoreSnapshot& scores, std::size_t rows) {
  ByPlugin read;
  for (const ScoreSnapshot::OfPlugin& plugin : scores.plugins()) {
    for (auto& row = read.emplace_back(); row.size() < rows;) row.push_back(plugin[row.size()]);
  }
  return read;
}

TEST(ScoreSnapshot, AVersionIsNotAffectedByLaterChanges) {
  Random random(1);
  ByPlugin now(3, std::vector<std::uint8_t>(50));
  ScoreHistory history;
  for (std::size_t plugin = 0; plugin < now.size(); ++plugin) {
    history.Add("P", 1);
    history.SetAll(plugin, now[plugin]);
  }
  std::vector<std::pair<ScoreSnapshot, ByPlugin>> versions;
  // More changes than fit on one page.
  for (int step = 0; step < 1500; ++step) {
    for (std::uint64_t i = random.Below(4); i > 0; --i) {
      const std::size_t plugin = random.Below(2);
      const std::size_t row = random.Below(now[plugin].size());
      now[plugin][row] = static_cast<std::uint8_t>(random.Below(101));
      history.Set(plugin, row, now[plugin][row]);
    }
    if (step % 100 == 99) {
      const auto score = static_cast<std::uint8_t>(step / 100);
      now[2].assign(now[2].size(), score);
      history.SetAll(2, score);
    }
    versions.emplace_back(history.Version(), now);
  }
  for (const auto& [version, expected] : versions) {
    ASSERT_EQ(Read(version, 50), expected);
    ASSERT_EQ(Read(version.Detached(), 50), expected);
  }
}

TEST(ScoreSnapshot, UniformScoresAreStoredOnce) {
  ScoreHistory history;
  history.Add("Taints", 3);
  history.SetAll(0, std::uint8_t{100});
  const ScoreSnapshot scores = history.Version();
  const ScoreSnapshot::OfPlugin taints = scores.plugins().front();
  EXPECT_EQ(taints.plugin(), "Taints");
  EXPECT_EQ(taints.weight(), 3);
  EXPECT_EQ(taints[4711], 100);
}

std::vector<std::uint8_t> ManyScores() {
  std::vector<std::uint8_t> scores;
  for (std::size_t row = 0; row < 5000; ++row) scores.push_back(static_cast<std::uint8_t>(row % 101));
  return scores;
}

TEST(ScoreSnapshot, VersionsShareMemory) {
  ScoreHistory history;
  history.Add("A", 1);
  history.SetAll(0, ManyScores());
  EXPECT_LT(history.Version().Bytes(), 500U);
  EXPECT_EQ(ScoreSnapshot().Bytes(), 0U);
  EXPECT_TRUE(ScoreSnapshot().plugins().empty());
}

TEST(ScoreSnapshot, OwnScoresTakeAsManyBitsAsTheyNeed) {
  const auto size_of = [](const std::vector<std::uint8_t>& scores) {
    return ScoreSnapshot({{"A", 1, 0, scores}}).Bytes();
  };
  std::vector<std::uint8_t> scores(5000);
  const std::size_t without = size_of(scores);
  EXPECT_GE(without, 500U) << "the parts of fixed size";
  scores[4711] = 100;
  EXPECT_EQ(size_of(scores), without + 5056 / 8);
  scores[815] = 50;
  EXPECT_EQ(size_of(scores), without + 5056);
  EXPECT_EQ(size_of(ManyScores()), without + 5056);
}

TEST(ScoreSnapshot, ChangesOfPackedPagesAreRead) {
  ScoreHistory history;
  history.Add("A", 1);
  ByPlugin now{std::vector<std::uint8_t>(300, 40)};
  now[0][7] = 42;
  history.SetAll(0, now[0]);
  const ScoreSnapshot first = history.Version();
  const ByPlugin before = now;
  for (const auto& [row, score] : {std::pair<std::size_t, int>{0, 100}, {63, 41}, {64, 0}, {299, 43}}) {
    now[0][row] = static_cast<std::uint8_t>(score);
    history.Set(0, row, now[0][row]);
  }
  const ScoreSnapshot second = history.Version();
  EXPECT_EQ(Read(first, 300), before);
  EXPECT_EQ(Read(second, 300), now);
  EXPECT_EQ(Read(first.Detached(), 300), before);
}

}  // namespace
}  // namespace berth::record
