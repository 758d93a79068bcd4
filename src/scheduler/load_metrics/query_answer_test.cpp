#include "scheduler/load_metrics/query_answer.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace berth::load_metrics {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "instance=value" for each sample, or the error.
std::vector<std::string> Read(std::string_view body, int status = 200) {
  std::vector<std::string> samples;
  const auto notes = ReadAnswer(status, body, [&](const LabelOf& labels, double value) {
    samples.push_back(fmt::format("{}={}", labels("instance"), value));
  });
  if (!notes) {
    return {fmt::format("{}: {}", notes.error().code == ErrorCode::kInvalid ? "refused" : "error",
                        notes.error().message)};
  }
  for (const std::string& warning : notes->warnings) samples.push_back("warning " + warning);
  if (notes->histograms > 0) samples.push_back(fmt::format("{} histograms", notes->histograms));
  return samples;
}

std::string VectorOf(std::string_view result) {
  return fmt::format(R"({{"status":"success","data":{{"resultType":"vector","result":[{}]}}}})", result);
}

TEST(QueryAnswer, NumbersAreParsedInAllFormsThatServersWrite) {
  const struct {
    std::string text, value;
  } cases[] = {{"0.25", "0.25"},       {"250000000000000000000", "2.5e+20"},
               {"1.5e-07", "1.5e-07"}, {"1e+21", "1e+21"},
               {"-3", "-3"},           {"+3", "3"},
               {"NaN", "nan"},         {"+Inf", "inf"},
               {"Inf", "inf"},         {"-Inf", "-inf"},
               {"1e999", "nan"}};
  for (const auto& [text, value] : cases) {
    EXPECT_THAT(Read(VectorOf(fmt::format(R"({{"metric":{{"instance":"a"}},"value":[1,"{}"]}})", text))),
                ElementsAre("a=" + value))
        << text;
  }
}

TEST(QueryAnswer, AnEmptyResultIsNoFailure) {
  EXPECT_THAT(Read(VectorOf("")), ElementsAre());
  EXPECT_THAT(Read(R"({"status":"success","data":{"resultType":"vector","result":null}})"), ElementsAre());
}

TEST(QueryAnswer, TheOrderOfMembersIsIrrelevantAndUnknownOnesAreSkipped) {
  EXPECT_THAT(Read(R"({"infos":["x"],"data":{"stats":{},"result":[{"value":[1,"2"],"metric":{"job":"j"}}],
                      "resultType":"vector"},"status":"success"})"),
              ElementsAre("=2"));
}

TEST(QueryAnswer, AScalarIsASampleWithoutLabels) {
  EXPECT_THAT(Read(R"({"status":"success","data":{"resultType":"scalar","result":[1,"7"]}})"),
              ElementsAre("=7"));
}

TEST(QueryAnswer, WarningsAreNotesAndHistogramsAreCounted) {
  EXPECT_THAT(Read(R"({"status":"success","warnings":["one store is away"],"data":{"resultType":"vector",
                      "result":[{"metric":{},"histogram":[1,{}]},{"metric":{},"value":[1,"2"]}]}})"),
              ElementsAre("=2", "warning one store is away", "1 histograms"));
}

TEST(QueryAnswer, QueryErrorsAreDistinguishedFromServerErrors) {
  const struct {
    int status;
    std::string body, expected;
  } cases[] = {
      {400, R"({"status":"error","errorType":"bad_data","error":"parse error"})",
       "refused: HTTP status 400: bad_data: parse error"},
      {422, R"({"status":"error","errorType":"execution","error":"many-to-many"})",
       "refused: HTTP status 422: execution: many-to-many"},
      {503, R"({"status":"error","errorType":"timeout","error":"query timed out"})",
       "error: HTTP status 503: timeout: query timed out"},
      {500, R"({"status":"error"})", "error: HTTP status 500: error: "},
      {200, R"({"status":"success","data":{"resultType":"matrix","result":[]}})",
       "refused: the query returned a matrix: expected an instant vector"},
      {503, "Service Unavailable",
       "error: HTTP status 503: not a JSON response of a Prometheus server: Service Unavailable"},
      {200, "<html>\nlogin",
       "error: HTTP status 200: not a JSON response of a Prometheus server: <html> login"},
      {200, "", "error: HTTP status 200: not a JSON response of a Prometheus server: "},
      {200, R"({"status":"success"})",
       R"(error: HTTP status 200: no data in the response: {"status":"success"})"},
      {200, "[]", "error: HTTP status 200: no status in the response: []"},
      {200, VectorOf(R"({"metric":{},"value":[1,2]})"), "error: a sample value is not a number"},
      {200, VectorOf(R"({"metric":{},"value":[1,"x"]})"), "error: a sample value is not a number"},
      {200, VectorOf(R"({"metric":{}})"), "error: a series without \"value\""},
      {200, VectorOf(R"({"value":[1,"2"]})"), "error: a series without \"metric\""},
      {200, VectorOf("7"), "error: a series without \"metric\""},
  };
  for (const auto& [status, body, expected] : cases)
    EXPECT_THAT(Read(body, status), ElementsAre(expected)) << body;
}

TEST(QueryAnswer, LongTextsOfTheServerAreCut) {
  const std::string text(5000, 'x');
  EXPECT_THAT(Read(fmt::format(R"({{"status":"error","errorType":"bad_data","error":"{}"}})", text), 400),
              ElementsAre("refused: HTTP status 400: bad_data: " + text.substr(0, 1024)));
  std::string warnings;
  for (int i = 0; i < 20; ++i) warnings += fmt::format(R"({}"{}{}")", i > 0 ? "," : "", i, text);
  const auto read = Read(fmt::format(
      R"({{"status":"success","warnings":[{}],"data":{{"resultType":"vector","result":[]}}}})", warnings));
  ASSERT_EQ(read.size(), 10U);
  EXPECT_EQ(read.back(), "warning 9" + text.substr(0, 1023));
}

TEST(QueryAnswer, ATruncatedDocumentIsUnavailable) {
  const std::string whole = VectorOf(R"({"metric":{"instance":"a"},"value":[1,"2"]})");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(Read(whole.substr(0, size)), ElementsAre(HasSubstr("error"))) << size;
  }
}

}  // namespace
}  // namespace berth::load_metrics
