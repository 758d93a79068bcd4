#include "base/check.hpp"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

using ::testing::ExitedWithCode;

enum class Colour { kRed = 3 };

[[gnu::noinline]] void CheckRow(int row, std::size_t rows) {
  BERTH_CHECK(row >= 0 && static_cast<std::size_t>(row) < rows, row, rows);
}

TEST(Check, DoesNothingWhenTheConditionHolds) { CheckRow(0, 1); }

TEST(CheckDeathTest, ReportsConditionPlaceAndValuesAndExitsWithItsOwnCode) {
  EXPECT_EQ(kInvariantExitCode, 70);
  EXPECT_EXIT(CheckRow(-1, 5), ExitedWithCode(kInvariantExitCode),
              "F[0-9]{4} [0-9:.]+ +[0-9]+ check_test.cpp:[0-9]+\\] \"Invariant violated\" "
              "check=\"row >= 0 && static_cast<std::size_t>\\(row\\) < rows\" row=-1 rows=5\n");
}

TEST(CheckDeathTest, PrintsTheStack) {
  EXPECT_EXIT(CheckRow(9, 5), ExitedWithCode(kInvariantExitCode), "#[0-9]+ 0x[0-9a-f]+ .*CheckRow");
}

TEST(CheckDeathTest, PrintsValuesOfEveryKind) {
  const std::string name = "say \"hi\"";
  EXPECT_EXIT(BERTH_CHECK(name.empty(), name, 2.5, true, Colour::kRed, std::max(1, 2)),
              ExitedWithCode(kInvariantExitCode),
              "name=\"say \\\\\"hi\\\\\"\" 2.5=2.5 true=true Colour::kRed=3 std::max\\(1, 2\\)=2\n");
}

TEST(Check, EvaluatesTheValuesOnlyOnFailure) {
  int evaluated = 0;
  BERTH_CHECK(true, ++evaluated);
  EXPECT_EQ(evaluated, 0);
}

TEST(CheckDeathTest, DebugChecksAreEnabledInTests) {
  EXPECT_EXIT(BERTH_DCHECK(1 > 2), ExitedWithCode(kInvariantExitCode), "check=\"1 > 2\"");
}

}  // namespace
}  // namespace berth
