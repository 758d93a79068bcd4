#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/clock.hpp"
#include "base/interner.hpp"
#include "base/nearest.hpp"
#include "base/random.hpp"
#include "base/result.hpp"
#include "base/wrap.hpp"

namespace berth {
namespace {

using namespace std::chrono_literals;

struct WordTag;

TEST(Interner, IdsCountUpInTheOrderOfFirstAppearance) {
  Interner<WordTag> words;
  EXPECT_EQ(words.Intern("a").value, 0U);
  EXPECT_EQ(words.Intern("b").value, 1U);
  EXPECT_EQ(words.Intern("a").value, 0U);
  EXPECT_EQ(words.size(), 2U);
  EXPECT_EQ(words.Text(words.Find("b")), "b");
}

TEST(Interner, AnUnknownTextHasNoId) {
  Interner<WordTag> words;
  words.Intern("");
  EXPECT_TRUE(words.Find("").known());
  EXPECT_FALSE(words.Find("x").known());
}

TEST(Interner, TextsKeepTheirAddressWhenItGrows) {
  Interner<WordTag> words;
  const std::string* first = &words.Text(words.Intern("first"));
  for (int i = 0; i < 10000; ++i) words.Intern(std::to_string(i));
  EXPECT_EQ(&words.Text(words.Find("first")), first);
  EXPECT_EQ(words.Text(words.Find("9999")), "9999");
}

struct Slip {
  std::string text;
  std::string nearest;
};
class NearestTo : public testing::TestWithParam<Slip> {};
TEST_P(NearestTo, IsTheCandidateWithTheFewestEdits) {
  const std::vector<std::string> known{"NodeName", "NodePorts", "NodeAffinity", "ImageLocality"};
  EXPECT_EQ(Nearest(GetParam().text, known), GetParam().nearest);
}
INSTANTIATE_TEST_SUITE_P(Table, NearestTo,
                         testing::Values(Slip{"NodeNam", "NodeName"}, Slip{"nodename", "NodeName"},
                                         Slip{"NodePort", "NodePorts"}, Slip{"NodeAfinnity", "NodeAffinity"},
                                         Slip{"Locality", ""}, Slip{"Foo", ""}, Slip{"", ""},
                                         Slip{std::string(101, 'N'), ""}));

TEST(NearestTo, IsEmptyWithoutCandidates) { EXPECT_EQ(Nearest("a", {}), ""); }

TEST(Clock, TimesAreFormattedLikeKubernetes) {
  const WallTime time(1700000000s + 1234567ns);
  EXPECT_EQ(FormatTime(time), "2023-11-14T22:13:20Z");
  EXPECT_EQ(FormatMicroTime(time), "2023-11-14T22:13:20.001234Z");
  EXPECT_EQ(FormatMicroTime(WallTime(0s)), "1970-01-01T00:00:00.000000Z");
}

TEST(Clock, TimesBefore1970AreRoundedDown) {
  EXPECT_EQ(FormatTime(WallTime(-1ns)), "1969-12-31T23:59:59Z");
  EXPECT_EQ(FormatMicroTime(WallTime(-1ns)), "1969-12-31T23:59:59.999999Z");
}

TEST(ManualClock, AdvancesOnlyWhenMoved) {
  ManualClock clock;
  const MonoTime mono = clock.Now();
  const WallTime wall = clock.WallNow();
  EXPECT_EQ(clock.Now(), mono);
  clock.Advance(3s);
  EXPECT_EQ(clock.Now() - mono, 3s);
  EXPECT_EQ(clock.WallNow() - wall, 3s);
}

TEST(Random, TheSameSeedGivesTheSameNumbers) {
  Random a(7);
  Random b(7);
  Random c(8);
  EXPECT_EQ(a.Next(), b.Next());
  EXPECT_NE(a.Next(), c.Next());
}

TEST(Random, DrawsStayBelowTheirBoundAndReachAllOfIt) {
  Random random(1);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(random.Below(5));
    const double unit = random.Unit();
    ASSERT_GE(unit, 0);
    ASSERT_LT(unit, 1);
  }
  EXPECT_THAT(seen, testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(random.Below(1), 0U);
}

TEST(Wrap, SumsWrapAround) {
  EXPECT_EQ(WrapAdd(INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(WrapSub(INT64_MIN, 1), INT64_MAX);
  EXPECT_EQ(WrapMul(INT64_MAX, 2), -2);
  EXPECT_EQ(WrapDiv(INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(WrapDiv(-7, 2), -3);
}

Expected<int> Half(int number) {
  if (number % 2 != 0) return Invalid("odd");
  return number / 2;
}
Expected<int> Quarter(int number) {
  BERTH_TRY(const int half, Half(number));
  BERTH_TRY(const int quarter, Half(half));
  return quarter;
}

TEST(Result, BerthTryReturnsTheFirstError) {
  EXPECT_EQ(*Quarter(8), 2);
  ASSERT_FALSE(Quarter(6));
  EXPECT_EQ(Quarter(6).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(std::move(Quarter(6)).error().In("six").message, "six: odd");
}

}  // namespace
}  // namespace berth
