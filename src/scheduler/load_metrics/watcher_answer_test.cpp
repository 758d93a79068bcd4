#include "scheduler/load_metrics/watcher_answer.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::load_metrics {
namespace {

using ::testing::HasSubstr;

// The response for one node n1 with these metrics.
std::string WithMetrics(std::string_view metrics) {
  return fmt::format(
      R"({{"timestamp":1000,"window":{{"duration":"15m","start":100,"end":1000}},"source":"Prometheus",)"
      R"("data":{{"NodeMetricsMap":{{"n1":{{"metrics":[{}],"tags":{{}},"metadata":{{}}}}}}}}}})",
      metrics);
}

std::string Shown(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : "-"; }

TEST(WatcherAnswer, QuantitiesAreThoseThatTheTrimaranPluginsRead) {
  struct Row {
    std::string name, metrics, utilization, average, deviation, any;
  };
  const Row rows[] = {
      {"average and deviation",
       R"({"type":"CPU","operator":"AVG","value":40.5},)"
       R"({"type":"CPU","operator":"STD","value":7})",
       "40.5", "40.5", "7", "1"},
      {"the last average counts",
       R"({"type":"CPU","operator":"AVG","value":40},)"
       R"({"type":"CPU","operator":"AVG","value":41})",
       "41", "41", "0", "1"},
      {"an average wins over a later latest value, but not as the utilization",
       R"({"type":"CPU","operator":"AVG","value":40},{"type":"CPU","operator":"Latest","value":50})", "50",
       "40", "0", "1"},
      {"an average replaces an earlier latest value",
       R"({"type":"CPU","operator":"Latest","value":50},{"type":"CPU","operator":"AVG","value":40})", "40",
       "40", "0", "1"},
      {"without an operator a value is an average, but no utilization", R"({"type":"CPU","value":50})", "-",
       "50", "0", "1"},
      {"a deviation alone means an average of 0", R"({"type":"CPU","operator":"STD","value":5})", "-", "0",
       "5", "1"},
      {"an unknown operator makes the resource known", R"({"type":"CPU","operator":"MAX","value":5})", "-",
       "0", "0", "1"},
      {"a metric without a value is 0", R"({"type":"CPU","operator":"AVG"})", "0", "0", "0", "1"},
      {"metrics of other types only make the node known", R"({"type":"Storage","operator":"AVG","value":5})",
       "-", "-", "-", "1"},
      {"no metrics", "", "-", "-", "-", "-"},
      {"a value that is no number is ignored", R"({"type":"CPU","operator":"AVG","value":"5"})", "-", "-",
       "-", "1"},
  };
  for (const Row& row : rows) {
    const auto answer = ReadWatcherAnswer(200, WithMetrics(row.metrics));
    ASSERT_TRUE(answer) << row.name << ": " << answer.error().message;
    ASSERT_EQ(answer->nodes.size(), 1U) << row.name;
    const WatcherNode& node = answer->nodes[0];
    EXPECT_EQ(node.name, "n1");
    EXPECT_EQ(answer->window_end, 1000);
    EXPECT_EQ(Shown(QuantityOf(node, kWatcherCpuUtilization)), row.utilization) << row.name;
    EXPECT_EQ(Shown(QuantityOf(node, kWatcherCpuAverage)), row.average) << row.name;
    EXPECT_EQ(Shown(QuantityOf(node, kWatcherCpuDeviation)), row.deviation) << row.name;
    EXPECT_EQ(Shown(QuantityOf(node, kWatcherAny)), row.any) << row.name;
    EXPECT_EQ(QuantityOf(node, kWatcherMemoryAverage), std::nullopt) << row.name;
  }
}

TEST(WatcherAnswer, MemoryIsSeparateFromCpu) {
  const auto answer = ReadWatcherAnswer(
      200,
      WithMetrics(
          R"({"type":"Memory","operator":"AVG","value":60},{"type":"Memory","operator":"STD","value":2})"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(QuantityOf(answer->nodes[0], kWatcherMemoryAverage), 60);
  EXPECT_EQ(QuantityOf(answer->nodes[0], kWatcherMemoryDeviation), 2);
  EXPECT_EQ(QuantityOf(answer->nodes[0], kWatcherCpuAverage), std::nullopt);
}

TEST(WatcherAnswer, OtherResponsesAreFailuresOfTheServer) {
  const struct {
    int status;
    std::string body, error;
  } cases[] = {{404, "", "HTTP status 404: load-watcher has no metrics"},
               {500, "{}", "HTTP status 500"},
               {200, "<html>", "not a response of load-watcher"},
               {200, "{}", "no data.NodeMetricsMap"},
               {200, R"({"data":{"NodeMetricsMap":[]}})", "no data.NodeMetricsMap"},
               {200, WithMetrics("").substr(0, 90), "not a response of load-watcher"}};
  for (const auto& [status, body, error] : cases) {
    const auto answer = ReadWatcherAnswer(status, body);
    ASSERT_FALSE(answer) << body;
    EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable) << body;
    EXPECT_THAT(answer.error().message, HasSubstr(error)) << body;
  }
}

}  // namespace
}  // namespace berth::load_metrics
