#include "kubernetes/api/quantity.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace berth::api {
namespace {

struct Row {
  std::string text;
  std::int64_t value;
  std::int64_t milli;
};

class QuantityText : public ::testing::TestWithParam<Row> {};
TEST_P(QuantityText, RoundsAwayFromZeroToIntegersAndToMillis) {
  const auto quantity = Quantity::Parse(GetParam().text);
  ASSERT_TRUE(quantity) << quantity.error().message;
  EXPECT_EQ(quantity->Value(), GetParam().value);
  EXPECT_EQ(quantity->MilliValue(), GetParam().milli);
}
INSTANTIATE_TEST_SUITE_P(
    Table, QuantityText,
    ::testing::Values(Row{"0.1", 1, 100}, Row{"100m", 1, 100}, Row{"0.1m", 1, 1}, Row{"2.5m", 1, 3},
                      Row{"1.0005", 2, 1001}, Row{"1.5", 2, 1500}, Row{"1.5Gi", 1610612736, 1610612736000},
                      Row{"0.5Ki", 512, 512000}, Row{"0.1Ki", 103, 102400}, Row{"1.1Ki", 1127, 1126400},
                      Row{"1024Ki", 1048576, 1048576000}, Row{"1000u", 1, 1}, Row{"3.001n", 1, 1},
                      Row{"1e3", 1000, 1000000}, Row{"1E3", 1000, 1000000}, Row{"1e19", 0, 0},
                      Row{"8000m", 8, 8000}, Row{"1E", 1000000000000000000, 0}, Row{"8Ei", INT64_MAX, -1000},
                      Row{"9Ei", INT64_MAX, -1000}, Row{"1.", 1, 1000}, Row{".5", 1, 500}, Row{"+5", 5, 5000},
                      Row{"+", 0, 0}, Row{"-", 0, 0}, Row{".", 0, 0}, Row{"k", 0, 0}, Row{"12E", 0, 0},
                      Row{"9223372036854775808", INT64_MIN, 0}, Row{"-1.5", -2, -1500},
                      Row{"-0.1Ki", -101, -102400}, Row{"1e2147483647", 0, 0}, Row{"1e-2147483647", 1, 1},
                      Row{"1.5e-2147483648", 1, 1}, Row{"0.00000000000000000001Ki", 1, 1},
                      Row{"-1234567890123456789012e-12", -1234567889, -1234567890122},
                      Row{"12345678901234567890e-10", 1234567891, 1234567890124},
                      Row{"12345678901234567890e-30", 1, 1}, Row{"0.50000000000000000000Ki", 512, 512000},
                      Row{"0.50000000000000000001Ki", 513, 512001}, Row{"90P", 90000000000000000, 0},
                      Row{"90000000000000001", 90000000000000001, -2233720368547757080}));

struct Wrong {
  std::string text;
  std::string error;
};
class InvalidQuantity : public ::testing::TestWithParam<Wrong> {};
TEST_P(InvalidQuantity, HasKubernetesErrorText) {
  const auto quantity = Quantity::Parse(GetParam().text);
  ASSERT_FALSE(quantity);
  EXPECT_EQ(quantity.error().message.substr(0, GetParam().error.size()), GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Table, InvalidQuantity,
    ::testing::Values(Wrong{"", "quantities must match"}, Wrong{" 1", "quantities must match"},
                      Wrong{"1MB", "quantities must match"}, Wrong{"1e3Ki", "quantities must match"},
                      Wrong{"1.2.3", "quantities must match"}, Wrong{"1e", "unable to parse quantity's"},
                      Wrong{"1K", "unable to parse quantity's"}, Wrong{"1ki", "unable to parse quantity's"},
                      Wrong{"1+5", "unable to parse quantity's"}, Wrong{"1m5", "unable to parse quantity's"},
                      Wrong{"1eE3", "unable to parse quantity's"}));

// The API server has no limit for the digits of a quantity.
TEST(Quantity, OfManyDigitsIsExact) {
  const std::string digits(300'000, '7');
  const auto number = Quantity::Parse(digits);
  ASSERT_TRUE(number);
  EXPECT_EQ(number->Compare(*Quantity::Parse(digits + ".000")), 0);
  EXPECT_EQ(number->Compare(*Quantity::Parse(digits.substr(1) + "6")), 1);
  EXPECT_EQ(Quantity::Parse("1." + digits + "e3")->Value(), 1778);
  EXPECT_EQ(Quantity::Parse(digits + "e-299998")->Value(), 78);
  EXPECT_EQ(Quantity::Parse("0." + digits + "Ki")->Value(), 797);
  // A text that is not as long as to be parsed in parts.
  const std::string ones(900, '1');
  EXPECT_EQ(Quantity::Parse(ones + "000")->Compare(*Quantity::Parse(ones + "e3")), 0);
  const std::string more(2500, '1');
  EXPECT_EQ(Quantity::Parse(more + "000")->Compare(*Quantity::Parse(more + "e3")), 0);
}

TEST(QuantitySum, IsExactBeforeItIsRounded) {
  auto sum = *Quantity::Parse("500u");
  sum += *Quantity::Parse("500u");
  EXPECT_EQ(sum.MilliValue(), 1);
}

TEST(QuantitySum, LeavesTheSmallFormWithoutLosingDigits) {
  auto sum = *Quantity::Parse("9E");
  sum += *Quantity::Parse("1n");
  EXPECT_EQ(sum.Value(), 9000000000000000001);
}

TEST(QuantityOrder, ComparesAcrossForms) {
  EXPECT_EQ(Quantity::Parse("1Ki")->Compare(*Quantity::Parse("1024")), 0);
  EXPECT_EQ(Quantity::Parse("100m")->Compare(*Quantity::Parse("0.2")), -1);
  EXPECT_EQ(Quantity::Parse("1e19")->Compare(*Quantity::Parse("8Ei")), 1);
}

}  // namespace
}  // namespace berth::api
