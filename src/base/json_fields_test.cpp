#include "base/json_fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace berth {
namespace {

struct FieldsOfPart {
  std::string name;
  double share = 0;
  std::vector<FieldsOfPart> parts;
  static void VisitFields(auto& self, auto&& visit) {
    visit("name", self.name);
    visit("share", self.share);
    visit("parts", self.parts);
  }
  friend bool operator==(const FieldsOfPart&, const FieldsOfPart&) = default;
};

struct FieldsOfAll {
  bool on = false;
  std::int8_t small = 0;
  std::uint64_t large = 0;
  MonoTime since;
  WallTime until;
  std::optional<std::int64_t> next;
  std::vector<std::pair<std::string, std::int32_t>> counts;
  FieldsOfPart part;
  static void VisitFields(auto& self, auto&& visit) {
    visit("on", self.on);
    visit("small", self.small);
    visit("large", self.large);
    visit("since", self.since);
    visit("until", self.until);
    visit("next", self.next);
    visit("counts", self.counts);
    visit("part", self.part);
  }
  friend bool operator==(const FieldsOfAll&, const FieldsOfAll&) = default;
};

struct SharedFields {
  SharedText first, none;
  static void VisitFields(auto& self, auto&& visit) {
    visit("first", self.first);
    visit("none", self.none);
  }
};

TEST(JsonFields, ReadingGivesTheWrittenValue) {
  const FieldsOfAll empty;
  const FieldsOfAll full{.on = true,
                         .small = -128,
                         .large = std::numeric_limits<std::uint64_t>::max(),
                         .since = MonoTime(std::chrono::hours(1)),
                         .until = WallTime(-std::chrono::hours(1)),
                         .next = 0,
                         .counts = {{"a \"b\"", -1}, {"", 0}},
                         .part = {"p", 0.1, {{"q", 1e300, {}}, {"", -0.25, {}}}}};
  for (const FieldsOfAll& value : {empty, full}) {
    const auto read = ReadJsonFields<FieldsOfAll>(WriteJsonFields(value));
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(*read, value);
  }
}

TEST(JsonFields, SharedTextsAreStrings) {
  const SharedFields uids{.first = std::make_shared<const std::string>("\"a"), .none = nullptr};
  EXPECT_EQ(WriteJsonFields(uids), R"({"first":"\"a"})");
  const auto read = ReadJsonFields<SharedFields>(WriteJsonFields(uids));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(TextOf(read->first), "\"a");
  EXPECT_EQ(read->none, nullptr);
  EXPECT_EQ(ReadJsonFields<SharedFields>(R"({"first":1})").error().message,
            ReadJsonFields<FieldsOfPart>(R"({"name":1})").error().message.replace(0, 4, "first"));
}

TEST(JsonFields, NumbersThatNoJsonHasAreKept) {
  const auto unknown = ReadJsonFields<FieldsOfPart>(WriteJsonFields(FieldsOfPart{"", std::nan(""), {}}));
  EXPECT_TRUE(unknown.has_value() && std::isnan(unknown->share));
}

TEST(JsonFields, EmptyMembersAreLeftOut) {
  EXPECT_EQ(WriteJsonFields(FieldsOfAll{}), R"({"part":{"share":"0"}})");
}

TEST(JsonFields, AnErrorNamesTheMember) {
  const struct {
    std::string_view json, error;
  } cases[] = {
      {"", "expected JSON"},
      {"[]", "expected an object"},
      {R"({"on":1})", "on: expected a boolean"},
      {R"({"small":128})", "small: expected an integer in its range"},
      {R"({"small":"1"})", "small: expected an integer in its range"},
      {R"({"large":-1})", "large: expected an integer in its range"},
      {R"({"large":"1x"})", "large: expected an integer in its range"},
      {R"({"since":9223372036854775807})", "since: expected nanoseconds from -2^61 to 2^61"},
      {R"({"counts":{}})", "counts: expected an array"},
      {R"({"counts":[["a"]]})", "counts: expected an array of two"},
      {R"({"part":{"parts":[{"share":0.5}]}})", "part: parts: share: expected a number in a string"},
      {R"({"part":{"name":null}})", "part: name: expected a string"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.json);
    const auto read = ReadJsonFields<FieldsOfAll>(test.json);
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().message, test.error);
  }
}

}  // namespace
}  // namespace berth
