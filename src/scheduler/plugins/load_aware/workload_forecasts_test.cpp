#include "scheduler/plugins/load_aware/workload_forecasts.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "testing/builders.hpp"

namespace berth::plugins {
namespace {

using berth::testing::MakePod;
using enum ForecastResource;

api::Pod ControlledPod(const std::string& kind, const std::string& controller, const std::string& hash = "") {
  api::Pod pod = MakePod();
  api::OwnerReference owner;
  owner.kind = kind;
  owner.name = controller;
  pod.metadata.controller = std::move(owner);
  if (!hash.empty()) pod.metadata.labels.Set("pod-template-hash", hash);
  return pod;
}
load_metrics::SeriesValue Of(const std::string& kind, const std::string& name, double value) {
  return {{{"namespace", "default"}, {"owner_kind", kind}, {"owner_name", name}}, value};
}
std::optional<std::int64_t> CpuOf(WorkloadForecasts& forecasts, const api::Pod& pod) {
  return forecasts.Of(pod)->forecast[0];
}

TEST(WorkloadForecasts, PodsFindTheForecastOfTheirControllerWhateverItsRevisionIs) {
  WorkloadForecasts forecasts({}, 100);
  forecasts.Take(kCpu, {Of("ReplicaSet", "web-5d4f8", 0.2), Of("ReplicaSet", "web-7bcd9", 0.4),
                        Of("Job", "report-28931040", 2), Of("Job", "report-28932480", 1.5),
                        Of("StatefulSet", "db", 1), Of("ReplicaSet", "solo-2", 3)});
  const struct {
    std::string name;
    api::Pod pod;
    std::optional<std::int64_t> milli;
  } cases[] = {
      {"a new revision of a Deployment", ControlledPod("ReplicaSet", "web-6789c", "6789c"), 400},
      {"a hash with letters that Kubernetes does not use", ControlledPod("ReplicaSet", "web-abc1", "abc1"),
       400},
      {"the next Job of a CronJob", ControlledPod("Job", "report-28933920"), 2000},
      {"a StatefulSet", ControlledPod("StatefulSet", "db"), 1000},
      {"a ReplicaSet without a Deployment", ControlledPod("ReplicaSet", "solo-2"), 3000},
      {"another name", ControlledPod("StatefulSet", "cache"), std::nullopt},
      {"another kind", ControlledPod("Deployment", "db"), std::nullopt},
      {"no controller", MakePod(), std::nullopt},
  };
  for (const auto& [name, pod, milli] : cases) EXPECT_EQ(CpuOf(forecasts, pod), milli) << name;
}

TEST(WorkloadForecasts, ATemplateHashHasNoVowels) {
  const struct {
    std::string name, without;
  } cases[] = {{"web-5d4f8", "web"},       {"my-web-7bcd9f", "my-web"},
               {"web-front", "web-front"}, {"web", "web"},
               {"-5d4f8", "-5d4f8"},       {"web-", "web-"},
               {"web-b2", "web"},          {"web-bbbbbbbbbbb", "web-bbbbbbbbbbb"}};
  for (const auto& [name, without] : cases) EXPECT_EQ(WithoutTemplateHash(name), without);
}

TEST(WorkloadForecasts, LabelsCanIdentifyAWorkload) {
  WorkloadForecasts forecasts({"app", "tier"}, 100);
  forecasts.Take(kMemory,
                 {{{{"namespace", "default"}, {"label_app", "flink"}, {"label_tier", "task"}}, 1024}});
  const auto memory_of = [&](const api::Pod& pod) { return forecasts.Of(pod)->forecast[1]; };
  EXPECT_EQ(memory_of(MakePod().Label("app", "flink").Label("tier", "task")), 1024);
  EXPECT_EQ(memory_of(MakePod().Label("app", "flink").Label("tier", "job")), std::nullopt);
  EXPECT_EQ(memory_of(MakePod().Label("app", "flink")), std::nullopt) << "no workload";
  EXPECT_EQ(memory_of(MakePod().Namespace("other").Label("app", "flink").Label("tier", "task")),
            std::nullopt);
}

TEST(WorkloadForecasts, UnusableSeriesAreIgnored) {
  WorkloadForecasts forecasts({}, 100);
  const auto taken = forecasts.Take(
      kCpu, {Of("StatefulSet", "a", -1), Of("StatefulSet", "b", 1e300), {{{"namespace", "default"}}, 1}});
  EXPECT_EQ(taken.known, 0U);
  EXPECT_EQ(forecasts.size(), 0U);
}

TEST(WorkloadForecasts, AnAnswerReplacesThePreviousOneOfItsResource) {
  WorkloadForecasts forecasts({}, 100);
  const WorkloadPtr db = forecasts.Of(ControlledPod("StatefulSet", "db"));
  forecasts.Take(kCpu, {Of("StatefulSet", "db", 1)});
  forecasts.Take(kMemory, {Of("StatefulSet", "db", 2048)});
  EXPECT_EQ(db->forecast[0], 1000) << "the object stays the same";
  forecasts.Take(kCpu, {});
  EXPECT_EQ(db->forecast[0], std::nullopt);
  EXPECT_EQ(db->forecast[1], 2048);
}

TEST(WorkloadForecasts, TheNumberOfWorkloadsIsLimited) {
  WorkloadForecasts forecasts({}, 3);
  std::vector<load_metrics::SeriesValue> series;
  for (int i = 0; i < 5; ++i) series.push_back(Of("StatefulSet", fmt::format("w{}", i), 1));
  const auto taken = forecasts.Take(kCpu, series);
  EXPECT_EQ(taken.known, 3U);
  EXPECT_EQ(taken.ignored, 2U);
  EXPECT_EQ(CpuOf(forecasts, ControlledPod("StatefulSet", "w4")), std::nullopt);
  EXPECT_EQ(forecasts.Of(ControlledPod("StatefulSet", "w4"))->name, "") << "no workload";
  forecasts.Take(kCpu, {});
  EXPECT_EQ(forecasts.size(), 0U) << "workloads without pods and forecasts are removed";
  EXPECT_EQ(forecasts.Of(ControlledPod("StatefulSet", "w4"))->name, "default/StatefulSet/w4");
}

TEST(WorkloadForecasts, AWorkloadWithPodsIsNotRemoved) {
  WorkloadForecasts forecasts({}, 3);
  const WorkloadPtr held = forecasts.Of(ControlledPod("StatefulSet", "db"));
  forecasts.Take(kCpu, {});
  EXPECT_EQ(forecasts.Of(ControlledPod("StatefulSet", "db")), held);
}

}  // namespace
}  // namespace berth::plugins
