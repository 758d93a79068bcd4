#include "scheduler/runtime/metrics_recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::runtime {
namespace {

using ::testing::HasSubstr;

// Adds the evaluations and seconds of one plugin, and returns what was measured of it.
MetricsRecorder::PluginUse Measure(metrics::Registry& registry, const char* profile, int seconds) {
  const ManualClock clock;
  MetricsRecorder recorder(registry, clock, profile, {.budget = std::chrono::hours(1)});
  recorder.Evaluations(ExtensionPoint::kFilter, "A").Add(10);
  recorder.PluginTook(ExtensionPoint::kFilter, "A", framework::Code::kSuccess, std::chrono::seconds(seconds));
  const std::vector<MetricsRecorder::PluginUse> uses = recorder.PluginUses();
  return uses.size() == 1 ? uses.front() : MetricsRecorder::PluginUse{};
}

TEST(MetricsRecorder, TheNextRecorderOfAProfileAddsToItsTimes) {
  metrics::Registry registry, other;
  EXPECT_EQ(Measure(registry, "p", 2).seconds, 2);
  EXPECT_EQ(Measure(registry, "q", 4).seconds, 4);
  EXPECT_EQ(Measure(other, "p", 8).seconds, 8);
  const MetricsRecorder::PluginUse use = Measure(registry, "p", 1);
  EXPECT_EQ(use.evaluations, 20);
  EXPECT_EQ(use.seconds, 3);
  EXPECT_THAT(
      registry.Expose(),
      HasSubstr("berth_plugin_seconds_total{extension_point=\"Filter\",plugin=\"A\",profile=\"p\"} 3\n"));
}

}  // namespace
}  // namespace berth::runtime
