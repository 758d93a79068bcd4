#include "scheduler/extenders/replies.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/extenders/json.hpp"

namespace berth::extenders {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::Pair;

Reply Ok(std::string body) { return {200, std::move(body)}; }

// --- JSON errors as in Go (recorded from encoding/json of Go 1.26) ---

TEST(JsonTest, InvalidJsonHasTheErrorsOfGo) {
  const std::pair<std::string, std::string> kCases[] = {
      {"", "EOF"},
      {" \n", "EOF"},
      {"{", "unexpected EOF"},
      {"-", "unexpected EOF"},
      {"nul", "unexpected EOF"},
      {"\"abc", "unexpected EOF"},
      {"<html>", "invalid character '<' looking for beginning of value"},
      {"nulx", "invalid character 'x' in literal null (expecting 'l')"},
      {"[1 2]", "invalid character '2' after array element"},
      {"[1,]", "invalid character ']' looking for beginning of value"},
      {"{\"a\" 1}", "invalid character '1' after object key"},
      {"{\"a\":1 2}", "invalid character '2' after object key:value pair"},
      {"{a:1}", "invalid character 'a' looking for beginning of object key string"},
      {"{\"a\":1,}", "invalid character '}' looking for beginning of object key string"},
      {"{'a':1}", "invalid character '\\'' looking for beginning of object key string"},
      {"\"\n\"", "invalid character '\\n' in string literal"},
      {"\"\\q\"", "invalid character 'q' in string escape code"},
      {"\"\\u12g4\"", "invalid character 'g' in \\u hexadecimal character escape"},
      {"-x", "invalid character 'x' in numeric literal"},
      {"1.x", "invalid character 'x' after decimal point in numeric literal"},
      {"1e]", "invalid character ']' in exponent of numeric literal"},
      {"\xef\xbb\xbf{}", "invalid character 'ï' looking for beginning of value"},
      {std::string(10'001, '['), "invalid character '[' exceeded max depth"},
  };
  for (const auto& [text, error] : kCases) {
    const auto value = FirstValue(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().message, error) << text.substr(0, 40);
  }
}

TEST(JsonTest, TheFirstValueCountsAndTheRestIsIgnored) {
  EXPECT_EQ(FirstValue(" {\"a\":[1,2]} rubbish")->text(), "{\"a\":[1,2]}");
  EXPECT_EQ(FirstValue("12 34")->text(), "12");
  EXPECT_EQ(FirstValue("null]")->text(), "null");
}

TEST(JsonTest, TruncatedTextReportsTheReason) {
  EXPECT_EQ(FirstValue("{\"a\":", "the line went dead").error().message, "the line went dead");
  EXPECT_EQ(FirstValue("<", "the line went dead").error().message,
            "invalid character '<' looking for beginning of value");
  EXPECT_TRUE(FirstValue("{}", "the line went dead"));
}

TEST(JsonTest, StringsAreUnquotedAndInvalidUtf8IsReplaced) {
  EXPECT_EQ(Unquoted(R"("a\"\\\/\b\f\n\r\t\u0041")"), "a\"\\/\b\f\n\r\tA");
  EXPECT_EQ(Unquoted(R"("\ud83d\ude00 \ud800 \udc00x")"), "\U0001F600 \uFFFD \uFFFDx");
  EXPECT_EQ(Unquoted("\"\xff\xc3\xa9\xc0\xaf\""), "\uFFFDé\uFFFD\uFFFD");
}

TEST(JsonTest, KeysAreCaseInsensitive) {
  EXPECT_TRUE(IsKey("\"nOdEnAmEs\"", "NodeNames"));
  EXPECT_TRUE(IsKey("\"\\u004eodeNames\"", "NodeNames"));
  EXPECT_TRUE(IsKey("\"NodeName\u017F\"", "NodeNames"));
  EXPECT_FALSE(IsKey("\"NodeName\"", "NodeNames"));
  EXPECT_FALSE(IsKey("\"NodeNamesX\"", "NodeNames"));
}

// --- replies ---

TEST(ReplyTest, AFilterReplyHasNamesOrNodes) {
  const auto names = ReadFilterReply(Ok(R"({"nodenames":["a","b"],"failedNodes":{"c":"hot"},"Error":null})"));
  ASSERT_TRUE(names);
  EXPECT_THAT(names->node_names, Optional(ElementsAre("a", "b")));
  EXPECT_EQ(names->nodes, std::nullopt);
  EXPECT_THAT(names->failed, ElementsAre(Pair("c", "hot")));
  const auto nodes = ReadFilterReply(
      Ok(R"({"Nodes":{"items":[{"metadata":{"name":"a","labels":{"name":"x"}},"spec":{}}]}})"));
  ASSERT_TRUE(nodes);
  EXPECT_THAT(nodes->nodes, Optional(ElementsAre("a")));
}

TEST(ReplyTest, AnEmptyReplyHasNoValues) {
  for (const char* body : {"null", "{}", R"({"Nodes":null,"NodeNames":null,"FailedNodes":null})"}) {
    const auto reply = ReadFilterReply(Ok(body));
    ASSERT_TRUE(reply) << body;
    EXPECT_EQ(reply->node_names, std::nullopt);
    EXPECT_EQ(reply->nodes, std::nullopt);
    EXPECT_THAT(reply->failed, IsEmpty());
  }
  EXPECT_THAT(ReadPrioritizeReply(Ok("null")).value(), IsEmpty());
  EXPECT_THAT(ReadPreemptReply(Ok("null")).value(), IsEmpty());
  EXPECT_EQ(ReadBindReply(Ok("null")).value(), "");
}

TEST(ReplyTest, DuplicateKeysOverwriteValuesAndMergeMaps) {
  const auto reply = ReadFilterReply(Ok(
      R"({"NodeNames":["a","b"],"nodeNames":[null],"FailedNodes":{"x":"1","y":"2"},"failedNodes":{"y":"3"}})"));
  ASSERT_TRUE(reply);
  EXPECT_THAT(reply->node_names, Optional(ElementsAre("a"))) << "a null leaves what was there";
  EXPECT_THAT(reply->failed, ElementsAre(Pair("x", "1"), Pair("y", "3")));
}

TEST(ReplyTest, TheFirstWrongTypeIsReported) {
  const std::pair<const char*, const char*> kCases[] = {
      {"[]", "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult"},
      {"7", "json: cannot unmarshal number into Go value of type v1.ExtenderFilterResult"},
      {R"({"Error":7,"NodeNames":"x"})",
       "json: cannot unmarshal number into Go struct field ExtenderFilterResult.Error of type string"},
      {R"({"NodeNames":"x"})",
       "json: cannot unmarshal string into Go struct field ExtenderFilterResult.NodeNames of type []string"},
      {R"({"FailedNodes":[]})",
       "json: cannot unmarshal array into Go struct field ExtenderFilterResult.FailedNodes of type "
       "v1.FailedNodesMap"},
      {R"({"Nodes":{"items":[{"metadata":{"name":7}}]}})",
       "json: cannot unmarshal number into Go struct field ObjectMeta.Nodes.items.metadata.name of type "
       "string"},
  };
  for (const auto& [body, error] : kCases) {
    const auto reply = ReadFilterReply(Ok(body));
    ASSERT_FALSE(reply) << body;
    EXPECT_EQ(reply.error().message, error);
  }
}

TEST(ReplyTest, ScoresAreIntegers) {
  const auto scores =
      ReadPrioritizeReply(Ok(R"([{"host":"a","score":7},{"Host":"b"},null,{"Host":"c","Score":-3}])"));
  ASSERT_TRUE(scores);
  std::vector<std::pair<std::string, std::int64_t>> read;
  for (const HostPriority& one : *scores) read.emplace_back(one.host, one.score);
  EXPECT_THAT(read, ElementsAre(Pair("a", 7), Pair("b", 0), Pair("", 0), Pair("c", -3)));
  for (const char* number : {"7.5", "7.0", "1e1", "9223372036854775808"}) {
    EXPECT_EQ(ReadPrioritizeReply(Ok(R"([{"Score":)" + std::string(number) + "}]")).error().message,
              "json: cannot unmarshal number " + std::string(number) +
                  " into Go struct field HostPriority.Score of type int64");
  }
  EXPECT_EQ(ReadPrioritizeReply(Ok("{}")).error().message,
            "json: cannot unmarshal object into Go value of type v1.HostPriorityList");
  EXPECT_EQ(ReadPrioritizeReply(Ok(R"([{"Score":"7"}])")).error().message,
            "json: cannot unmarshal string into Go struct field HostPriority.Score of type int64");
}

TEST(ReplyTest, VictimsAreReadByNode) {
  const auto victims = ReadPreemptReply(Ok(
      R"({"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"1"},{"uid":"2"},null],"NumPDBViolations":1},"b":null}})"));
  ASSERT_TRUE(victims);
  EXPECT_THAT(victims->at("a").uids, ElementsAre("1", "2", ""));
  EXPECT_EQ(victims->at("a").violations, 1);
  EXPECT_THAT(victims->at("b").uids, IsEmpty());
}

TEST(ReplyTest, ATruncatedBodyIsAcceptedIfItsFirstValueIsComplete) {
  EXPECT_EQ(ReadBindReply({200, R"({"Error":"no"})", "late"}).value(), "no");
  EXPECT_EQ(ReadBindReply({200, R"({"Error":)", "late"}).error().message, "late");
}

}  // namespace
}  // namespace berth::extenders
