#include "scheduler/plugins/node_resources/resource_columns.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace berth::plugins {
namespace {

std::int64_t Plain(std::int64_t part, std::int64_t whole) { return WrapDiv(WrapMul(part, 100), whole); }

TEST(Percent, EqualsIntegerDivisionAroundEveryBorder) {
  std::vector<std::int64_t> numbers;
  for (const std::int64_t border :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{100}, (std::int64_t{1} << 52) / 100,
        std::int64_t{1} << 52, std::int64_t{1} << 53, INT64_MAX / 100, INT64_MAX, INT64_MIN}) {
    for (std::int64_t step = -3; step <= 3; ++step) {
      numbers.push_back(WrapAdd(border, step));
      numbers.push_back(WrapSub(0, WrapAdd(border, step)));
    }
  }
  for (const std::int64_t part : numbers) {
    for (const std::int64_t whole : numbers) {
      if (whole == 0) continue;
      ASSERT_EQ(Percent(part, whole), Plain(part, whole)) << part << " of " << whole;
    }
  }
}

// A rounded division could be wrong for integral or nearly integral quotients.
TEST(Percent, EqualsIntegerDivisionForNearlyIntegralQuotients) {
  Random random(1);
  for (int round = 0; round < 1'000'000; ++round) {
    const auto whole = static_cast<std::int64_t>(random.Next() >> (12 + random.Below(50))) | 1;
    const auto hundredth = whole / 100 * static_cast<std::int64_t>(random.Below(102)) + whole % 100;
    const auto part = hundredth + static_cast<std::int64_t>(random.Below(3)) - 1;
    ASSERT_EQ(Percent(part, whole), Plain(part, whole)) << part << " of " << whole;
  }
}

TEST(Percent, EqualsIntegerDivisionForRandomNumbers) {
  Random random(2);
  for (int round = 0; round < 1'000'000; ++round) {
    const auto part = static_cast<std::int64_t>(random.Next() >> random.Below(64));
    const auto whole = static_cast<std::int64_t>(random.Next() >> random.Below(64));
    if (whole == 0) continue;
    ASSERT_EQ(Percent(part, whole), Plain(part, whole)) << part << " of " << whole;
  }
}

}  // namespace
}  // namespace berth::plugins
