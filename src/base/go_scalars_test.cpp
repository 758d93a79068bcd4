#include "base/go_scalars.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/trim.hpp"

namespace berth {
namespace {

TEST(GoScalars, ParseGoBoolAcceptsTwelveTexts) {
  for (const auto* yes : {"1", "t", "T", "TRUE", "true", "True"}) EXPECT_EQ(ParseGoBool(yes), true) << yes;
  for (const auto* no : {"0", "f", "F", "FALSE", "false", "False"}) EXPECT_EQ(ParseGoBool(no), false) << no;
  for (const auto* other : {"", "yes", "on", "tRUE", " true", "2"})
    EXPECT_EQ(ParseGoBool(other), std::nullopt) << other;
}

TEST(GoScalars, ParseGoIntAcceptsBasePrefixesAndUnderscores) {
  const std::pair<const char*, std::int64_t> good[] = {
      {"0", 0},     {"-5", -5},   {"+5", 5},
      {"0x1F", 31}, {"-0x1", -1}, {"017", 15},
      {"0o17", 15}, {"0b11", 3},  {"1_000", 1000},
      {"0x_1", 1},  {"0_7", 7},   {"-9223372036854775808", std::numeric_limits<std::int64_t>::min()}};
  for (const auto& [text, value] : good) EXPECT_EQ(ParseGoInt(text, 64).value(), value) << text;
  for (const auto* text : {"", "-", "x", "1.5", "08", "0x", "1__0", "_1", "1_", "--1", "0b2", " 1"})
    EXPECT_EQ(ParseGoInt(text, 64).error().message,
              "strconv.ParseInt: parsing \"" + std::string(text) + "\": invalid syntax");
  for (const auto* text : {"2147483648", "-2147483649", "99999999999999999999"})
    EXPECT_THAT(ParseGoInt(text, 32).error().message, testing::HasSubstr("value out of range")) << text;
  EXPECT_EQ(ParseGoInt("-2147483648", 32).value(), -2147483648LL);
}

TEST(GoScalars, ParseGoDecimalAcceptsASignAndDecimalDigits) {
  const std::pair<const char*, std::int64_t> good[] = {
      {"0", 0},
      {"-5", -5},
      {"+5", 5},
      {"017", 17},
      {"-9223372036854775808", std::numeric_limits<std::int64_t>::min()}};
  for (const auto& [text, value] : good) EXPECT_EQ(ParseGoDecimal(text, 64).value(), value) << text;
  for (const auto* text : {"", "-", "+", "+-5", "--5", "x", "1.5", "0x1", "1_0", " 1", "1 "})
    EXPECT_EQ(ParseGoDecimal(text, 64).error().message,
              "strconv.ParseInt: parsing \"" + std::string(text) + "\": invalid syntax");
  for (const auto* text : {"2147483648", "-2147483649", "99999999999999999999"})
    EXPECT_EQ(ParseGoDecimal(text, 32).error().message,
              "strconv.ParseInt: parsing \"" + std::string(text) + "\": value out of range");
  EXPECT_EQ(ParseGoDecimal("-2147483648", 32).value(), -2147483648LL);
  EXPECT_EQ(ParseGoDecimal("\"\n", 64).error().message,
            R"(strconv.ParseInt: parsing "\"\n": invalid syntax)");
}

TEST(GoScalars, ParseGoLevelAccepts31Bits) {
  EXPECT_EQ(ParseGoLevel("2147483647").value(), 2147483647U);
  EXPECT_THAT(ParseGoLevel("2147483648").error().message, testing::HasSubstr("value out of range"));
  for (const auto* text : {"", "-1", "+1", "0x2", "1.5"})
    EXPECT_THAT(ParseGoLevel(text).error().message, testing::HasSubstr("invalid syntax")) << text;
}

TEST(GoScalars, ParseGoFloat32RejectsValuesOutOfRange) {
  const std::pair<const char*, double> good[] = {{"5", 5},     {"+5", 5},     {"-.5", -0.5}, {"5_0", 50},
                                                 {"0x1p3", 8}, {"1e3", 1000}, {"1e-400", 0}};
  for (const auto& [text, value] : good) EXPECT_EQ(ParseGoFloat32(text).value(), value) << text;
  EXPECT_TRUE(std::isinf(ParseGoFloat32("inf").value()));
  for (const auto* text : {"", "x", "+-5", "0x1", "5_", "1__0"})
    EXPECT_THAT(ParseGoFloat32(text).error().message, testing::HasSubstr("invalid syntax")) << text;
  for (const auto* text : {"1e39", "1e400"})
    EXPECT_THAT(ParseGoFloat32(text).error().message, testing::HasSubstr("value out of range")) << text;
}

TEST(Trim, RemovesBlanksAtBothEnds) {
  EXPECT_EQ(Trimmed(" \ta b\r\n"), "a b");
  EXPECT_EQ(Trimmed(" \n"), "");
  EXPECT_EQ(Trimmed(""), "");
  EXPECT_EQ(Trimmed("'a' ", " '"), "a");
}

}  // namespace
}  // namespace berth
