#include "record/kept_scores.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace berth::record {
namespace {

TEST(KeptScores, AVersionStaysWhatItWasWhateverChangesLater) {
  Random random(1);
  std::vector<std::uint8_t> now(200);
  ScoreHistory history;
  history.Reset(now);
  std::vector<std::pair<KeptScores, std::vector<std::uint8_t>>> versions;
  // More changes than one base carries.
  for (int step = 0; step < 1500; ++step) {
    for (std::uint64_t i = random.Below(4); i > 0; --i) {
      const auto row = static_cast<std::uint32_t>(random.Below(now.size()));
      now[row] = static_cast<std::uint8_t>(random.Below(101));
      history.Set(row, now[row]);
    }
    versions.emplace_back(history.Version(), now);
  }
  for (const auto& [version, expected] : versions) {
    for (std::size_t row = 0; row < expected.size(); ++row) ASSERT_EQ(version[row], expected[row]);
  }
}

TEST(KeptScores, VersionsShareWhatTheyHaveInCommon) {
  ScoreHistory history;
  history.Reset(std::vector<std::uint8_t>(5000, 7));
  EXPECT_LT(history.Version().Bytes(), 500U);
  EXPECT_EQ(KeptScores(std::vector<std::uint8_t>(5000, 7)).Bytes(), 5000U);
  EXPECT_TRUE(KeptScores().empty());
}

}  // namespace
}  // namespace berth::record
