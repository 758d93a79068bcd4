#include "scheduler/plugins/load_aware/load_aware_args.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/go_duration.hpp"
#include "base/nearest.hpp"
#include "scheduler/plugins/load_aware/presets.hpp"
#include "scheduler/plugins/load_metrics/prometheus_args.hpp"

namespace berth::plugins {
namespace {

using config::Problems;
using config::StructReader;
using config::Value;

// Each period is another part of the query.
constexpr std::int64_t kMostPeriods = 14;

std::string Quoted(const std::vector<std::string>& names) {
  return fmt::format("\"{}\"", fmt::join(names, "\", \""));
}

void Unsupported(Problems& problems, const std::string& path, const std::string& got,
                 const std::vector<std::string>& known) {
  const std::string near = Nearest(got, known);
  problems.Other(fmt::format("{}: Unsupported value: \"{}\": supported values: {}{}", path, got,
                             Quoted(known), near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
}

// A number for which absence is distinct from a value.
void ReadOptional(StructReader& reader, std::string_view name, std::optional<double>& out) {
  double value = load_metrics::kNoValue;
  reader.Read(name, value, "float64");
  if (!std::isnan(value)) out = value;
}

const std::vector<std::pair<std::string, LoadEstimate::From>>& EstimateNames() {
  using enum LoadEstimate::From;
  static const std::vector<std::pair<std::string, LoadEstimate::From>> kNames = {
      {"request", kRequest}, {"limit", kLimit}, {"history", kHistory}, {"mean", kMean}, {"none", kNone}};
  return kNames;
}

void ReadEstimate(const Value& value, const std::string& path, LoadEstimate& estimate, Problems& problems) {
  StructReader reader(value, "LoadEstimate", path, problems);
  std::string from;
  reader.Read("from", from);
  reader.Read("resource", estimate.resource);
  reader.Read("factor", estimate.factor, "float64");
  reader.Finish();
  if (from.empty()) return;
  std::vector<std::string> names;
  for (const auto& [name, kind] : EstimateNames()) {
    names.push_back(name);
    if (name == from) estimate.from = kind;
  }
  if (std::ranges::find(names, from) == names.end()) Unsupported(problems, path + ".from", from, names);
}

void ReadSignal(const Value& value, const std::string& path, LoadAwareArgs& args, Problems& problems) {
  StructReader reader(value, "LoadSignal", path, problems);
  std::string name;
  reader.Read("name", name);
  auto known = std::ranges::find(args.signals, name, &LoadSignalArgs::name);
  if (known == args.signals.end()) {
    LoadSignalArgs fresh = BuiltInSignal(name).value_or(LoadSignalArgs{});
    fresh.name = name;
    known = args.signals.insert(known, std::move(fresh));
  }
  LoadSignalArgs& signal = *known;
  reader.Read("query", signal.query);
  reader.Read("full", signal.full, "float64");
  reader.Read("weight", signal.weight);
  ReadOptional(reader, "threshold", signal.threshold);
  ReadOptional(reader, "target", signal.target);
  reader.Read("preferHigh", signal.prefer_high);
  ReadGoDuration(reader, "window", signal.window, problems);
  ReadOptional(reader, "percentile", signal.percentile);
  ReadGoDuration(reader, "over", signal.over, problems);
  reader.With("estimate", [&](const Value& estimate, const std::string& at) {
    ReadEstimate(estimate, at, signal.estimate, problems);
  });
  reader.Finish();
  if (signal.query.empty()) {
    const std::string near = Nearest(name, BuiltInSignalNames());
    problems.Other(fmt::format("{}.query: Required value: \"{}\" is not a built-in signal ({}){}", path, name,
                               Quoted(BuiltInSignalNames()),
                               near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
  }
}

void ReadForecast(const Value& value, const std::string& path, LoadForecastArgs& forecast,
                  Problems& problems) {
  StructReader reader(value, "LoadForecast", path, problems);
  reader.Read("cpuWeight", forecast.cpu_weight);
  reader.Read("memoryWeight", forecast.memory_weight);
  reader.Read("percentile", forecast.percentile, "float64");
  ReadGoDuration(reader, "horizon", forecast.horizon, problems);
  ReadGoDuration(reader, "period", forecast.period, problems);
  reader.Read("periods", forecast.periods);
  reader.Read("workloadLabels", forecast.workload_labels);
  ReadGoDuration(reader, "pollInterval", forecast.poll_interval, problems);
  reader.Finish();
}

LoadAwareArgs DecodeLoadAwareArgs(const Value& value, const config::FeatureGates&, Problems& problems) {
  LoadAwareArgs args;
  StructReader reader(value, "LoadAwareArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  reader.Read("prometheusAddress", args.prometheus_address);
  reader.Read("preset", args.preset);
  ReadGoDuration(reader, "holdFor", args.hold_for, problems);
  std::string outage;
  reader.Read("onOutage", outage);
  args.reject_without_measurements = outage == "reject";
  if (!outage.empty() && outage != "reject" && outage != "neutral")
    Unsupported(problems, "onOutage", outage, {"neutral", "reject"});
  reader.Read("hysteresis", args.hysteresis, "float64");
  reader.Read("maxEstimate", args.max_estimate, "float64");
  if (auto preset = PresetSignals(args.preset)) {
    args.signals = std::move(*preset);
  } else {
    Unsupported(problems, "preset", args.preset, PresetNames());
  }
  reader.Each(
      "signals",
      [&](const Value& signal, const std::string& path) { ReadSignal(signal, path, args, problems); },
      "LoadSignal");
  reader.With("forecast", [&](const Value& forecast, const std::string& path) {
    ReadForecast(forecast, path, args.forecast.emplace(), problems);
  });
  reader.Finish();
  return args;
}

void CheckSignal(const LoadSignalArgs& signal, const std::string& path, std::vector<std::string>& errors) {
  const auto wrong = [&](std::string_view field, const auto& value, std::string_view what) {
    errors.push_back(fmt::format("{}.{}: Invalid value: {}: {}", path, field, value, what));
  };
  if (signal.weight < 0) wrong("weight", signal.weight, "must not be negative");
  if (!(signal.full > 0)) wrong("full", signal.full, "must be greater than zero");
  if (signal.threshold && !(*signal.threshold > 0))
    wrong("threshold", *signal.threshold, "must be greater than zero");
  if (signal.target && !(*signal.target > 0 && *signal.target < 100))
    wrong("target", *signal.target, "must be between 0 and 100, both excluded");
  if (signal.percentile && !(*signal.percentile > 0 && *signal.percentile <= 100))
    wrong("percentile", *signal.percentile, "must be above 0 and at most 100");
  if (!(signal.estimate.factor >= 0))
    wrong("estimate.factor", signal.estimate.factor, "must not be negative");
  using enum LoadEstimate::From;
  const LoadEstimate& estimate = signal.estimate;
  const bool by_resource = estimate.from == kRequest || estimate.from == kLimit || estimate.from == kHistory;
  if (by_resource && estimate.resource.empty()) {
    errors.push_back(path +
                     ".estimate.resource: Required value: the resource whose requests are the estimate");
  } else if (estimate.from == kHistory && UseOf(estimate.resource, "").empty()) {
    errors.push_back(fmt::format(
        "{}.estimate.resource: Unsupported value: \"{}\": what pods use is known of \"cpu\" and \"memory\"",
        path, estimate.resource));
  }
  CheckPositive(signal.window, path + ".window", errors);
  CheckPositive(signal.over, path + ".over", errors);
}

void CheckForecast(const LoadForecastArgs& forecast, const std::string& path,
                   std::vector<std::string>& errors) {
  const auto wrong = [&](std::string_view field, const auto& value, std::string_view what) {
    errors.push_back(fmt::format("{}.{}: Invalid value: {}: {}", path, field, value, what));
  };
  const auto wrong_duration = [&](std::string_view field, Duration value, std::string_view what) {
    wrong(field, fmt::format("\"{}\"", FormatGoDuration(value)), what);
  };
  if (forecast.cpu_weight < 0) wrong("cpuWeight", forecast.cpu_weight, "must not be negative");
  if (forecast.memory_weight < 0) wrong("memoryWeight", forecast.memory_weight, "must not be negative");
  if (forecast.cpu_weight == 0 && forecast.memory_weight == 0)
    errors.push_back(path + ": Required value: cpuWeight or memoryWeight must be greater than zero");
  if (!(forecast.percentile > 0 && forecast.percentile <= 100))
    wrong("percentile", forecast.percentile, "must be above 0 and at most 100");
  if (forecast.horizon < std::chrono::minutes(1))
    wrong_duration("horizon", forecast.horizon, "must be at least 1m0s");
  if (forecast.period < forecast.horizon)
    wrong_duration("period", forecast.period, "must be at least the horizon");
  if (forecast.periods < 1 || forecast.periods > kMostPeriods)
    wrong("periods", forecast.periods, fmt::format("must be between 1 and {}", kMostPeriods));
  for (std::size_t i = 0; i < forecast.workload_labels.size(); ++i) {
    const std::string& label = forecast.workload_labels[i];
    const std::string field = fmt::format("workloadLabels[{}]", i);
    const auto end = forecast.workload_labels.begin() + static_cast<std::ptrdiff_t>(i);
    if (label.empty()) {
      errors.push_back(fmt::format("{}.{}: Required value: the key of a pod label", path, field));
    } else if (std::find(forecast.workload_labels.begin(), end, label) != end) {
      errors.push_back(fmt::format("{}.{}: Duplicate value: \"{}\"", path, field, label));
    }
  }
  CheckPositive(forecast.poll_interval, path + ".pollInterval", errors);
}

std::vector<std::string> Check(const LoadAwareArgs& args, const std::string& path,
                               const config::FeatureGates&) {
  std::vector<std::string> errors;
  CheckSource(args.prometheus_address, path + ".prometheusAddress", errors);
  CheckPositive(args.hold_for, path + ".holdFor", errors);
  if (!(args.hysteresis >= 0 && args.hysteresis < 100))
    errors.push_back(fmt::format("{}.hysteresis: Invalid value: {}: must be at least 0 and below 100", path,
                                 args.hysteresis));
  if (!(args.max_estimate >= 0 && args.max_estimate <= 100))
    errors.push_back(
        fmt::format("{}.maxEstimate: Invalid value: {}: must be between 0 and 100", path, args.max_estimate));
  if (args.signals.empty()) errors.push_back(path + ".signals: Required value: at least one signal");
  for (std::size_t i = 0; i < args.signals.size(); ++i)
    CheckSignal(args.signals[i], fmt::format("{}.signals[{}]", path, i), errors);
  if (args.forecast) CheckForecast(*args.forecast, path + ".forecast", errors);
  return errors;
}

// Signals are written completely, so that the output does not depend on the preset.
Value EncodeSignal(const LoadSignalArgs& signal) {
  Value out = Value::Map();
  out.Set("name", Value::Text(signal.name));
  out.Set("query", Value::Text(signal.query));
  out.Set("full", Value::Float(signal.full));
  out.Set("weight", Value::Number(signal.weight));
  if (signal.threshold) out.Set("threshold", Value::Float(*signal.threshold));
  if (signal.target) out.Set("target", Value::Float(*signal.target));
  if (signal.prefer_high) out.Set("preferHigh", Value::Bool(true));
  out.Set("window", Value::Text(FormatGoDuration(signal.window)));
  if (signal.percentile) {
    out.Set("percentile", Value::Float(*signal.percentile));
    out.Set("over", Value::Text(FormatGoDuration(signal.over)));
  }
  Value estimate = Value::Map();
  for (const auto& [name, from] : EstimateNames()) {
    if (from == signal.estimate.from) estimate.Set("from", Value::Text(name));
  }
  if (!signal.estimate.resource.empty()) estimate.Set("resource", Value::Text(signal.estimate.resource));
  estimate.Set("factor", Value::Float(signal.estimate.factor));
  out.Set("estimate", std::move(estimate));
  return out;
}

Value EncodeForecast(const LoadForecastArgs& forecast) {
  Value out = Value::Map();
  out.Set("cpuWeight", Value::Number(forecast.cpu_weight));
  out.Set("memoryWeight", Value::Number(forecast.memory_weight));
  out.Set("percentile", Value::Float(forecast.percentile));
  out.Set("horizon", Value::Text(FormatGoDuration(forecast.horizon)));
  out.Set("period", Value::Text(FormatGoDuration(forecast.period)));
  out.Set("periods", Value::Number(forecast.periods));
  if (!forecast.workload_labels.empty()) {
    Value labels = Value::List();
    for (const std::string& label : forecast.workload_labels) labels.items.push_back(Value::Text(label));
    out.Set("workloadLabels", std::move(labels));
  }
  out.Set("pollInterval", Value::Text(FormatGoDuration(forecast.poll_interval)));
  return out;
}

Value Encode(const LoadAwareArgs& args) {
  Value out = Value::Map();
  out.Set("prometheusAddress", Value::Text(args.prometheus_address));
  out.Set("preset", Value::Text("none"));
  out.Set("holdFor", Value::Text(FormatGoDuration(args.hold_for)));
  out.Set("onOutage", Value::Text(args.reject_without_measurements ? "reject" : "neutral"));
  out.Set("hysteresis", Value::Float(args.hysteresis));
  out.Set("maxEstimate", Value::Float(args.max_estimate));
  Value signals = Value::List();
  for (const LoadSignalArgs& signal : args.signals) signals.items.push_back(EncodeSignal(signal));
  out.Set("signals", std::move(signals));
  if (args.forecast) out.Set("forecast", EncodeForecast(*args.forecast));
  return out;
}

}  // namespace

Expected<LoadAwareArgs> ParseLoadAwareArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeLoadAwareArgs, Check);
}

config::ArgsCodec LoadAwareArgsCodec() {
  auto codec = config::MakeArgsCodec<LoadAwareArgs>("LoadAwareArgs", DecodeLoadAwareArgs, Check, Encode);
  codec.in_tree = false;
  return codec;
}

}  // namespace berth::plugins
