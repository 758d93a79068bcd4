// Expected texts are the output of Go 1.26: strconv.Quote and json.Marshal.
#include <gtest/gtest.h>

#include "base/go_quote.hpp"
#include "base/json_text.hpp"
#include "base/utf8.hpp"

namespace berth {
namespace {

using namespace std::string_view_literals;

struct Case {
  const char* name;
  std::string_view text, quoted, marshalled;
  std::string_view json{};  // of AppendJsonString; empty: as marshalled
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Quoting : public testing::TestWithParam<Case> {};

TEST_P(Quoting, EqualsGo) {
  const Case& c = GetParam();
  EXPECT_EQ(GoQuote(c.text), c.quoted);
  EXPECT_EQ(GoJsonString(c.text), c.marshalled);
  std::string json = "before ";
  AppendJsonString(json, c.text);
  EXPECT_EQ(json, "before " + std::string(c.json.empty() ? c.marshalled : c.json));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, Quoting,
    testing::Values(
        Case{"Empty", "", R"("")", R"("")"}, Case{"Plain", "plain /~", R"("plain /~")", R"("plain /~")"},
        Case{"QuotesAndBackslash", "a\"b\\c`'", R"("a\"b\\c`'")", R"("a\"b\\c`'")"},
        Case{"Controls", "\a\b\f\n\r\t\v\x00\x1f\x7f"sv, R"("\a\b\f\n\r\t\v\x00\x1f\x7f")",
             "\"\\u0007\\b\\f\\n\\r\\t\\u000b\\u0000\\u001f\x7f\""},
        Case{"Html", "<a&b>", R"("<a&b>")", R"("\u003ca\u0026b\u003e")", R"("<a&b>")"},
        Case{"Letters", "é€😀", R"("é€😀")", R"("é€😀")"},
        Case{"InvalidUtf8", "\xff\xc3(", R"("\xff\xc3(")", R"("\ufffd\ufffd(")"},
        Case{"TruncatedUtf8", "\xe2\x80", R"("\xe2\x80")", R"("\ufffd\ufffd")"},
        Case{"Latin1Controls", "\u0080\u00a0\u00ad", R"("\u0080\u00a0\u00ad")", "\"\u0080\u00a0\u00ad\""},
        Case{"Separators", "\u200b\u2028\u2029\u3000\ufeff", R"("\u200b\u2028\u2029\u3000\ufeff")",
             "\"\u200b\\u2028\\u2029\u3000\ufeff\"", "\"\u200b\u2028\u2029\u3000\ufeff\""},
        Case{"PrivateUse", "\ue000\ufffd", "\"\\ue000\ufffd\"", "\"\ue000\ufffd\""},
        Case{"AboveTheBasicPlane", "\U000e0001\U000f0000", R"("\U000e0001\U000f0000")",
             "\"\U000e0001\U000f0000\""}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(JsonObject, WritesMembersInOrder) {
  std::string out;
  {
    JsonObject root(out);
    EXPECT_TRUE(root.empty());
    root.Add("a", "x\"").AddRaw("b", "1");
    JsonObject(root.Key("c")).Add("d", "");
  }
  EXPECT_EQ(out, R"({"a":"x\"","b":1,"c":{"d":""}})");
}

TEST(Utf8, InvalidBytesAreReplacedOneByOne) {
  EXPECT_EQ(ToUtf8("a\xff\xe2\x80z"), "a\uFFFD\uFFFD\uFFFDz");
  EXPECT_EQ(ToUtf8("é"), "é");
}

}  // namespace
}  // namespace berth
