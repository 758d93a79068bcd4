#include "scheduler/runtime/metrics_recorder.hpp"

#include "observability/log/log.hpp"

namespace berth::runtime {
namespace {

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

std::string_view ExtensionPointName(ExtensionPoint point) {
  static constexpr std::array<std::string_view, kExtensionPoints> kNames{"PreEnqueue",
                                                                         "PreFilter",
                                                                         "PreFilterExtensionAddPod",
                                                                         "PreFilterExtensionRemovePod",
                                                                         "Filter",
                                                                         "PostFilter",
                                                                         "PreScore",
                                                                         "Score",
                                                                         "ScoreExtensionNormalize",
                                                                         "Reserve",
                                                                         "Unreserve",
                                                                         "Permit",
                                                                         "PreBindPreFlight",
                                                                         "PreBind",
                                                                         "Bind",
                                                                         "PostBind",
                                                                         "PlacementFeasible",
                                                                         "PlacementGenerate",
                                                                         "PlacementScore",
                                                                         "PlacementScoreExtensionNormalize",
                                                                         "PodGroupPostFilter"};
  return kNames[static_cast<std::size_t>(point)];
}

MetricsRecorder::MetricsRecorder(metrics::Registry& registry, const Clock& clock, std::string profile,
                                 InstrumentOptions options)
    : registry_(registry),
      clock_(clock),
      profile_(std::move(profile)),
      options_(options),
      random_(options.seed) {}

MetricsRecorder::~MetricsRecorder() = default;

void MetricsRecorder::PointTook(ExtensionPoint point, framework::Code code, MonoTime began) {
  const MonoTime now = Now();
  if (trace_ != nullptr)
    trace_->parts.push_back({ExtensionPointName(point), framework::CodeName(code), began, now});
  metrics::Histogram*& cell = points_[static_cast<std::size_t>(point)][static_cast<std::size_t>(code)];
  if (cell == nullptr) {
    static const std::vector<double> kBuckets = metrics::ExponentialBuckets(0.0001, 2, 12);
    cell = &registry_.Histogram("scheduler_framework_extension_point_duration_seconds",
                                "[STABLE] Latency for running all plugins of a specific extension point.",
                                kBuckets,
                                {{"extension_point", std::string(ExtensionPointName(point))},
                                 {"status", std::string(framework::CodeName(code))},
                                 {"profile", profile_}});
  }
  cell->Observe(Seconds(now - began));
}

void MetricsRecorder::PluginTook(ExtensionPoint point, std::string_view plugin, framework::Code code,
                                 Duration took, std::uint64_t stands_for) {
  metrics::Histogram*& cell = plugins_[{plugin, point, code}];
  if (cell == nullptr) {
    static const std::vector<double> kBuckets = metrics::ExponentialBuckets(0.00001, 1.5, 20);
    cell =
        &registry_.Histogram("scheduler_plugin_execution_duration_seconds",
                             "[BETA] Duration for running a plugin at a specific extension point.", kBuckets,
                             {{"plugin", std::string(plugin)},
                              {"extension_point", std::string(ExtensionPointName(point))},
                              {"status", std::string(framework::CodeName(code))}});
  }
  cell->Observe(Seconds(took));
  if (took > Duration::zero())
    TimeOf(point, plugin).Add(static_cast<std::uint64_t>(took.count()) * stands_for);
  if (took > options_.budget) Overrun(point, plugin, took);
}

metrics::Counter& MetricsRecorder::TimeOf(ExtensionPoint point, std::string_view plugin) {
  metrics::Counter*& nanoseconds = times_[{plugin, point}];
  if (nanoseconds == nullptr) {
    nanoseconds = &registry_.NanosecondCounter(
        "berth_plugin_seconds_total",
        "[ALPHA] Time spent in a plugin at an extension point, extrapolated from the tenth of the attempts "
        "that are timed.",
        {{"plugin", std::string(plugin)},
         {"extension_point", std::string(ExtensionPointName(point))},
         {"profile", profile_}});
  }
  return *nanoseconds;
}

metrics::Counter& MetricsRecorder::Evaluations(ExtensionPoint point, std::string_view plugin) {
  metrics::Counter& counter =
      registry_.Counter("scheduler_plugin_evaluation_total",
                        "[BETA] Number of attempts to schedule pods by each plugin and the extension point "
                        "(available only in PreFilter, Filter, PreScore, and Score).",
                        {{"plugin", std::string(plugin)},
                         {"extension_point", std::string(ExtensionPointName(point))},
                         {"profile", profile_}});
  evaluations_[{plugin, point}] = &counter;
  return counter;
}

std::vector<MetricsRecorder::PluginUse> MetricsRecorder::PluginUses() const {
  std::map<std::pair<std::string_view, ExtensionPoint>, PluginUse> uses;
  for (const auto& [key, counter] : evaluations_) {
    if (const std::uint64_t value = counter->Value(); value > 0)
      uses.try_emplace(key, PluginUse{key.first, key.second}).first->second.evaluations = value;
  }
  for (const auto& [key, nanoseconds] : times_) {
    uses.try_emplace(key, PluginUse{key.first, key.second}).first->second.seconds =
        static_cast<double>(nanoseconds->Value()) * 1e-9;
  }
  std::vector<PluginUse> all;
  for (const auto& [key, use] : uses) all.push_back(use);
  return all;
}

std::vector<MetricsRecorder::PointUse> MetricsRecorder::PointUses() const {
  std::vector<PointUse> all;
  for (std::size_t point = 0; point < points_.size(); ++point) {
    for (std::size_t code = 0; code < points_[point].size(); ++code) {
      const metrics::Histogram* cell = points_[point][code];
      if (cell == nullptr) continue;
      PointUse& use = all.emplace_back(
          PointUse{static_cast<ExtensionPoint>(point), static_cast<framework::Code>(code), 0, cell->Sum()});
      for (std::size_t i = 0; i <= cell->Bounds().size(); ++i) use.calls += cell->Count(i);
    }
  }
  return all;
}

void MetricsRecorder::PermitWaited(framework::Code code, MonoTime began) {
  const MonoTime now = Now();
  if (trace_ != nullptr) trace_->parts.push_back({"WaitOnPermit", framework::CodeName(code), began, now});
  registry_
      .Histogram("scheduler_permit_wait_duration_seconds", "[BETA] Duration of waiting on permit.",
                 metrics::ExponentialBuckets(0.001, 2, 15),
                 {{"result", std::string(framework::CodeName(code))}})
      .Observe(Seconds(now - began));
}

void MetricsRecorder::HintTook(std::string_view plugin, std::string_view event, std::string_view hint,
                               Duration took) {
  metrics::Histogram*& cell = hints_[{plugin, event, hint}];
  if (cell == nullptr) {
    static const std::vector<double> kBuckets = metrics::ExponentialBuckets(0.00001, 1.5, 20);
    cell = &registry_.Histogram(
        "scheduler_queueing_hint_execution_duration_seconds",
        "[ALPHA] Duration for running a queueing hint function of a plugin.", kBuckets,
        {{"plugin", std::string(plugin)}, {"event", std::string(event)}, {"hint", std::string(hint)}});
  }
  cell->Observe(Seconds(took));
}

void MetricsRecorder::Overrun(ExtensionPoint point, std::string_view plugin, Duration took) {
  registry_
      .Counter("berth_plugin_overruns_total",
               "[ALPHA] Plugin calls on the scheduler loop that exceeded their time limit.",
               {{"plugin", std::string(plugin)}, {"extension_point", std::string(ExtensionPointName(point))}})
      .Add();
  log::Warning(
      "Plugin call on the scheduler loop exceeded its time limit",
      {{"plugin", plugin}, {"extensionPoint", ExtensionPointName(point)}, {"seconds", Seconds(took)}});
}

}  // namespace berth::runtime
