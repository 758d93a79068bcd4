#include "scheduler/plugins/load_aware/forecast_query.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::plugins {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

LoadAwareArgs ArgsWith(const LoadForecastArgs& forecast) {
  LoadAwareArgs args;
  args.forecast = forecast;
  return args;
}

// tests/monitoring/forecast.py evaluates queries of this form in Prometheus.
TEST(ForecastQuery, TheSameHoursOfThePastPeriodsCountAndElseTheLastHour) {
  const auto spec = ForecastSpecOf("memory", ArgsWith({.percentile = 90, .periods = 2}));
  const std::string use =
      "(sum by (namespace,pod) (max by (namespace,pod,container) "
      "(container_memory_working_set_bytes{container!=\"\",container!=\"POD\"})) "
      "* on (namespace,pod) group_left (owner_kind,owner_name) max by (pod,namespace,owner_kind,owner_name) "
      "(kube_pod_owner{owner_is_controller=\"true\"} offset 5m))[1h0m0s:10m0s]";
  EXPECT_EQ(spec.expression,
            "quantile by (namespace,owner_kind,owner_name) (0.9, "
            "label_replace(quantile_over_time(0.9, " +
                use +
                " offset 23h0m0s), \"period\", \"1\", \"\", \"\") or "
                "label_replace(quantile_over_time(0.9, " +
                use +
                " offset 47h0m0s), \"period\", \"2\", \"\", \"\")) or "
                "quantile by (namespace,owner_kind,owner_name) (0.9, quantile_over_time(0.9, " +
                use + "))");
  EXPECT_EQ(spec.subject, load_metrics::Subject::kWorkload);
  EXPECT_EQ(spec.every, 10min);
  EXPECT_EQ(spec.hold, 1h);
  EXPECT_EQ(spec.max_series, kMostForecastWorkloads);
  EXPECT_THAT(spec.series_labels, ElementsAre("namespace", "owner_kind", "owner_name"));
}

TEST(ForecastQuery, UsageIsReadSixTimesWithinTheHorizonAndAtMostOncePerMinute) {
  const struct {
    Duration horizon;
    std::string rate, range;
  } cases[] = {
      {1h, "[10m0s]", "[1h0m0s:10m0s]"}, {30min, "[5m0s]", "[30m0s:5m0s]"}, {2min, "[1m0s]", "[2m0s:1m0s]"}};
  for (const auto& [horizon, rate, range] : cases) {
    const auto spec = ForecastSpecOf("cpu", ArgsWith({.horizon = horizon}));
    EXPECT_THAT(
        spec.expression,
        HasSubstr("rate(container_cpu_usage_seconds_total{container!=\"\",container!=\"POD\"}" + rate));
    EXPECT_THAT(spec.expression, HasSubstr(range));
  }
}

TEST(ForecastQuery, WorkloadsCanBeIdentifiedByLabels) {
  const auto spec =
      ForecastSpecOf("cpu", ArgsWith({.workload_labels = {"app", "app.kubernetes.io/part-of"}}));
  EXPECT_THAT(
      spec.expression,
      HasSubstr("group_left (label_app,label_app_kubernetes_io_part_of) max by "
                "(pod,namespace,label_app,label_app_kubernetes_io_part_of) "
                "(kube_pod_labels{label_app!=\"\",label_app_kubernetes_io_part_of!=\"\"} offset 5m)"));
  EXPECT_THAT(spec.series_labels, ElementsAre("namespace", "label_app", "label_app_kubernetes_io_part_of"));
}

TEST(ForecastQuery, LabelsAreNamedAsByKubeStateMetrics) {
  const struct {
    std::string label, name;
  } cases[] = {{"app", "label_app"},          {"app.kubernetes.io/name", "label_app_kubernetes_io_name"},
               {"jobName", "label_job_name"}, {"v2Beta", "label_v2_beta"},
               {"TEAM", "label_team"},        {"a-b", "label_a_b"}};
  for (const auto& [label, name] : cases) EXPECT_EQ(StateMetricsLabel(label), name);
}

}  // namespace
}  // namespace berth::plugins
