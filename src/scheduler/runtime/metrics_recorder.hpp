// Metrics of a profile's extension points and plugins, under kube-scheduler's names, and warnings about slow
// plugins.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "observability/metrics/registry.hpp"
#include "observability/tracing/attempt_trace.hpp"
#include "scheduler/framework/status.hpp"

namespace berth::runtime {

enum class ExtensionPoint : std::uint8_t {
  kPreEnqueue,
  kPreFilter,
  kPreFilterExtensionAddPod,
  kPreFilterExtensionRemovePod,
  kFilter,
  kPostFilter,
  kPreScore,
  kScore,
  kScoreExtensionNormalize,
  kReserve,
  kUnreserve,
  kPermit,
  kPreBindPreFlight,
  kPreBind,
  kBind,
  kPostBind,
  kPlacementFeasible,
  kPlacementGenerate,
  kPlacementScore,
  kPlacementScoreExtensionNormalize,
  kPodGroupPostFilter,
};
inline constexpr std::size_t kExtensionPoints = 21;
std::string_view ExtensionPointName(ExtensionPoint point);  // "PreFilter", as in metrics

struct InstrumentOptions {
  // Time limit of a plugin call on the scheduler loop. Longer calls delay all pods; they are counted and
  // logged, but not interrupted.
  Duration budget = std::chrono::milliseconds(100);
  std::uint64_t seed = 1;
};

// The metrics of one profile. Extension points are always timed; their plugins in one of ten attempts, as in
// kube-scheduler, except plugins that are not built into Berth, which are always timed. Scheduler loop only.
class MetricsRecorder {
 public:
  MetricsRecorder(metrics::Registry& registry, const Clock& clock, std::string profile,
                  InstrumentOptions options);
  ~MetricsRecorder();
  MetricsRecorder(const MetricsRecorder&) = delete;
  MetricsRecorder& operator=(const MetricsRecorder&) = delete;

  // During the lifetime of this object, extension points are added to `trace`. Either argument may be null.
  class Traced {
   public:
    Traced(MetricsRecorder* metrics_recorder, std::shared_ptr<tracing::AttemptTrace> trace)
        : metrics_recorder_(metrics_recorder) {
      if (metrics_recorder_ != nullptr) before_ = std::exchange(metrics_recorder_->trace_, std::move(trace));
    }
    ~Traced() {
      if (metrics_recorder_ != nullptr) metrics_recorder_->trace_ = std::move(before_);
    }
    Traced(const Traced&) = delete;
    Traced& operator=(const Traced&) = delete;

   private:
    MetricsRecorder* metrics_recorder_;
    std::shared_ptr<tracing::AttemptTrace> before_;
  };
  // Decides at random whether the plugins of this attempt are timed individually.
  static constexpr std::uint64_t kSampled = 10;  // one attempt of this number is timed
  void BeginAttempt() { sampled_ = random_.Below(kSampled) == 0; }
  bool sampled() const { return sampled_; }
  // The attempts that are timed from now on are those after the construction.
  void RestartSampling() { random_ = Random(options_.seed); }
  MonoTime Now() const { return clock_.Now(); }

  void PointTook(ExtensionPoint point, framework::Code code, MonoTime began);
  // `stands_for`: the number of calls that this timed one represents.
  void PluginTook(ExtensionPoint point, std::string_view plugin, framework::Code code, Duration took,
                  std::uint64_t stands_for = 1);
  // Counts what a plugin evaluates: pods for PreFilter and PreScore, otherwise nodes.
  metrics::Counter& Evaluations(ExtensionPoint point, std::string_view plugin);
  void PermitWaited(framework::Code code, MonoTime began);

  // What was measured of a plugin at an extension point.
  struct PluginUse {
    std::string_view plugin;
    ExtensionPoint point{};
    std::uint64_t evaluations = 0;  // see Evaluations; 0 at other points
    double seconds = 0;             // extrapolated from the timed calls
  };
  // By plugin and extension point; without those that were not called.
  std::vector<PluginUse> PluginUses() const;
  // What was measured of an extension point, by the code of the result.
  struct PointUse {
    ExtensionPoint point{};
    framework::Code code{};
    std::uint64_t calls = 0;
    double seconds = 0;
  };
  std::vector<PointUse> PointUses() const;
  void HintTook(std::string_view plugin, std::string_view event, std::string_view hint, Duration took);

 private:
  using PluginKey = std::tuple<std::string_view, ExtensionPoint, framework::Code>;
  metrics::Counter& TimeOf(ExtensionPoint point, std::string_view plugin);
  void Overrun(ExtensionPoint point, std::string_view plugin, Duration took);

  metrics::Registry& registry_;
  const Clock& clock_;
  const std::string profile_;
  const InstrumentOptions options_;
  Random random_;
  bool sampled_ = false;
  std::shared_ptr<tracing::AttemptTrace> trace_;
  std::array<std::array<metrics::Histogram*, 7>, kExtensionPoints> points_{};
  // the names belong to the plugins, which outlive this object
  std::map<PluginKey, metrics::Histogram*> plugins_;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, metrics::Histogram*> hints_;
  std::map<std::pair<std::string_view, ExtensionPoint>, metrics::Counter*> times_;  // in nanoseconds
  std::map<std::pair<std::string_view, ExtensionPoint>, metrics::Counter*> evaluations_;
};

}  // namespace berth::runtime
