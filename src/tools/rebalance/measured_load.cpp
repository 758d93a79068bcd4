#include "tools/rebalance/measured_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scheduler/framework/handle.hpp"
#include "scheduler/plugins/load_aware/load_aware_args.hpp"
#include "scheduler/plugins/load_aware/load_signal.hpp"
#include "scheduler/plugins/load_aware/presets.hpp"
#include "scheduler/plugins/load_metrics/prometheus_args.hpp"

namespace berth::rebalance {

using load_metrics::Signal;
using load_metrics::SignalAnswer;
using load_metrics::SignalId;
using load_metrics::SignalSpec;
using load_metrics::SignalState;
using plugins::LoadAwareArgs;
using plugins::LoadEstimate;
using plugins::LoadSignalArgs;

namespace {

constexpr std::string_view kPlugin = "LoadAware";
// A window is evaluated at ten times or more, at most a minute apart.
constexpr Duration kResolution = std::chrono::minutes(1);
constexpr int kLeastSamples = 10;
// Of the samples of a window; scrapes fail now and then.
constexpr double kCoverage = 0.8;

// The resource whose usage by each pod is measured; empty: none.
std::string ResourceOf(const LoadSignalArgs& args) {
  using enum LoadEstimate::From;
  const LoadEstimate& estimate = args.estimate;
  if (estimate.from == kMean || estimate.from == kNone) return {};
  return plugins::UseOf(estimate.resource, "5m").empty() ? std::string() : estimate.resource;
}

Expected<std::vector<LoadAwareArgs>> ArgsOf(const config::SchedulerConfig& config) {
  std::vector<LoadAwareArgs> all;
  for (const config::Profile& profile : config.profiles) {
    if (!profile.Enables(kPlugin)) continue;
    const auto found = profile.plugin_args.find(kPlugin);
    framework::RawArgs raw;
    if (found != profile.plugin_args.end()) raw.value = &found->second;
    if (const auto path = profile.args_paths.find(kPlugin); path != profile.args_paths.end())
      raw.path = path->second;
    BERTH_TRY(LoadAwareArgs args, plugins::ParseLoadAwareArgs(raw));
    all.push_back(std::move(args));
  }
  if (all.empty()) {
    return Invalid(
        "no profile of the configuration enables the plugin LoadAware: without it the scheduler does not "
        "compare the load of nodes; pass its configuration file with --config");
  }
  return all;
}

}  // namespace

SignalSpec LowestOf(const SignalSpec& signal, Duration window) {
  SignalSpec spec = signal;
  const Duration resolution =
      std::chrono::ceil<std::chrono::seconds>(std::min(kResolution, window / kLeastSamples));
  const auto samples = window / resolution;
  const std::string range = fmt::format("({})[{}:{}]", signal.expression, plugins::PromQlDuration(window),
                                        plugins::PromQlDuration(resolution));
  spec.name = signal.name + ": lowest";
  spec.expression = fmt::format(
      "min_over_time({}) and count_over_time({}) >= {}", range, range,
      std::max<std::int64_t>(1, static_cast<std::int64_t>(kCoverage * static_cast<double>(samples))));
  spec.window = signal.window + window;
  spec.guards.clear();  // the current value has them
  return spec;
}

Expected<std::unique_ptr<LoadReader>> LoadReader::Create(const config::SchedulerConfig& config,
                                                         framework::Handle& handle,
                                                         LoadReaderOptions options) {
  BERTH_TRY(const std::vector<LoadAwareArgs> plugins, ArgsOf(config));
  std::unique_ptr<LoadReader> reader(new LoadReader(handle));
  for (const LoadAwareArgs& plugin : plugins) {
    for (const LoadSignalArgs& args : plugin.signals) {
      const auto wanted = options.thresholds.find(args.name);
      const auto threshold =
          wanted != options.thresholds.end() ? std::optional(wanted->second) : args.threshold;
      if (!threshold) continue;
      const SignalSpec spec = plugins::SignalSpecOf(args, plugin);
      Watched watched;
      watched.signal.name = args.name;
      watched.signal.threshold = *threshold;
      watched.signal.traffic = plugins::IsShareOfLink(args);
      watched.signal.resource = watched.signal.traffic ? args.name : ResourceOf(args);
      watched.signal.smoothing = spec.window;
      watched.signal.scale = 100 / args.full;
      watched.signal.id = handle.signals.Declare(spec);
      watched.lowest = handle.signals.Declare(LowestOf(spec, options.window));
      const auto known = std::ranges::find(reader->watched_, watched.signal.id,
                                           [](const Watched& other) { return other.signal.id; });
      if (known != reader->watched_.end()) {  // of another profile
        known->signal.threshold = std::min(known->signal.threshold, *threshold);
        continue;
      }
      if (watched.signal.traffic) {
        reader->WatchUsage(reader->traffic_, args.name, plugins::PodTrafficSpecOf(args, plugin));
        watched.slowest_link =
            handle.signals.Declare(plugins::LinkSpeedSpecOf(args, plugins::Link::kSlowest, plugin));
        watched.fastest_link =
            handle.signals.Declare(plugins::LinkSpeedSpecOf(args, plugins::Link::kFastest, plugin));
      } else if (const std::string& resource = watched.signal.resource; !resource.empty()) {
        reader->WatchUsage(reader->usage_, resource, plugins::PodUsageSpecOf(resource, plugin));
      }
      reader->watched_.push_back(std::move(watched));
    }
  }
  for (const auto& [name, threshold] : options.thresholds) {
    if (std::ranges::none_of(reader->watched_, [&](const auto& one) { return one.signal.name == name; }))
      return Invalid(fmt::format("--threshold {}: LoadAware has no signal of this name", name));
  }
  if (reader->watched_.empty())
    return Invalid("no signal of LoadAware has a threshold: set one in its arguments, or --threshold cpu=80");
  return reader;
}

// --- usage of pods ---

void LoadReader::WatchUsage(UsageSignals& of, const std::string& name, const SignalSpec& spec) {
  const auto [entry, added] = of.try_emplace(name);
  if (!added) return;
  UsageSignal& signal = entry->second;
  signal.id = handle_.signals.Declare(spec);
  handle_.signals.ListenToPods(signal.id, [&signal](const SignalAnswer& answer) { Take(signal, answer); });
}

void LoadReader::Take(UsageSignal& signal, const SignalAnswer& answer) {
  if (answer.renumbered) signal.series.clear();
  if (answer.fresh != nullptr) {
    for (const load_metrics::SeriesName& name : *answer.fresh) {
      std::string_view ns, pod;
      for (const auto& [label, value] : name) {
        if (label == "namespace") ns = value;
        if (label == "pod") pod = value;
      }
      signal.series.push_back(fmt::format("{}/{}", ns, pod));
    }
  }
  signal.usage.clear();
  for (const auto& [number, value] : answer.samples) {
    if (number < signal.series.size() && std::isfinite(value))
      signal.usage.insert_or_assign(signal.series[number], value);
  }
}

// --- reading ---

// Values of an earlier poll are not used: a plan must not rest on load that may have changed.
std::string LoadReader::Unavailable(SignalId id) const {
  const Signal& signal = handle_.signals.signal(id);
  switch (signal.state) {
    case SignalState::kFresh:
      return {};
    case SignalState::kWaiting:
      return signal.error.empty() ? "not measured yet" : signal.error;
    case SignalState::kHeld:
      return fmt::format("the last poll failed: {}", signal.error);
    case SignalState::kGone:
      break;
  }
  return signal.error.empty() ? "no measurements" : signal.error;
}

std::string LoadReader::TrafficUnavailable(const Watched& watched) const {
  const UsageSignal& usage = traffic_.find(watched.signal.resource)->second;
  for (const SignalId id : {usage.id, watched.slowest_link, watched.fastest_link}) {
    if (std::string why = Unavailable(id); !why.empty()) return why;
  }
  return usage.usage.empty() ? "no values" : "";
}

MeasuredLoad LoadReader::Read() const {
  MeasuredLoad load;
  const cluster::NodeTable& nodes = handle_.nodes;
  for (const Watched& watched : watched_) {
    SignalLoad& signal = load.signals.emplace_back(watched.signal);
    signal.unavailable = Unavailable(signal.id);
    if (signal.unavailable.empty()) signal.unavailable = Unavailable(watched.lowest);
    const Signal& now = handle_.signals.signal(signal.id);
    const Signal& lowest = handle_.signals.signal(watched.lowest);
    if (signal.traffic) signal.not_per_pod = TrafficUnavailable(watched);
    if (!signal.not_per_pod.empty()) {
      signal.traffic = false;
      signal.resource.clear();
    }
    nodes.all().ForEach([&](std::size_t at) {
      const auto row = static_cast<cluster::Row>(at);
      NodeLoad& node = signal.nodes[nodes.name(row)];
      node.now = now.At(row) * signal.scale;
      node.lowest = lowest.At(row) * signal.scale;
      if (!signal.traffic) return;
      node.slowest_link = handle_.signals.signal(watched.slowest_link).At(row);
      node.fastest_link = handle_.signals.signal(watched.fastest_link).At(row);
    });
    if (signal.traffic) load.usage[signal.resource] = traffic_.find(signal.resource)->second.usage;
  }
  for (const auto& [resource, signal] : usage_) {
    load.usage[resource] = signal.usage;
    if (std::string why = Unavailable(signal.id); !why.empty())
      load.usage_unavailable[resource] = std::move(why);
  }
  return load;
}

}  // namespace berth::rebalance
