#include "scheduler/plugins/cpu_usage/cpu_usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/go_duration.hpp"
#include "base/json_fields.hpp"
#include "scheduler/plugins/encode_later.hpp"
#include "scheduler/plugins/load_metrics/prometheus_args.hpp"
#include "scheduler/plugins/load_metrics/saved_rows.hpp"
#include "scheduler/plugins/load_metrics/tutorial_log.hpp"

namespace berth::plugins {
namespace {

using cluster::Row;
using config::Value;

CpuUsageArgs DecodeCpuUsageArgs(const Value& value, const config::FeatureGates&, config::Problems& problems) {
  CpuUsageArgs args;
  config::StructReader reader(value, "CPUUsageArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  reader.Read("prometheusAddress", args.prometheus_address);
  ReadGoDuration(reader, "window", args.window, problems);
  reader.Finish();
  return args;
}

std::vector<std::string> Check(const CpuUsageArgs& args, const std::string& path,
                               const config::FeatureGates&) {
  std::vector<std::string> errors;
  CheckSource(args.prometheus_address, path + ".prometheusAddress", errors);
  CheckPositive(args.window, path + ".window", errors);
  return errors;
}

Value Encode(const CpuUsageArgs& args) {
  Value out = Value::Map();
  out.Set("prometheusAddress", Value::Text(args.prometheus_address));
  out.Set("window", Value::Text(FormatGoDuration(args.window)));
  return out;
}

load_metrics::SignalSpec BusyOf(const CpuUsageArgs& args) {
  const std::string window = PromQlDuration(args.window);
  return {.name = "cpu",
          .source = args.prometheus_address,
          .expression = "100 * (" + BusyShareOf(window) + ")",
          .window = args.window,
          .guards = GuardsOf("cpu", kOneProcessor, window)};
}

}  // namespace

Expected<CpuUsageArgs> ParseCpuUsageArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeCpuUsageArgs, Check);
}

config::ArgsCodec CpuUsageArgsCodec() {
  auto codec = config::MakeArgsCodec<CpuUsageArgs>("CPUUsageArgs", DecodeCpuUsageArgs, Check, Encode);
  codec.in_tree = false;
  return codec;
}

framework::Factory CpuUsage::Factory(std::string name) {
  return [name](const framework::RawArgs& raw, framework::Handle& handle) -> framework::PluginOrError {
    BERTH_TRY(const CpuUsageArgs args, ParseCpuUsageArgs(raw));
    return std::make_unique<CpuUsage>(name, args, handle);
  };
}

CpuUsage::CpuUsage(std::string_view name, const CpuUsageArgs& args, framework::Handle& handle)
    : name_(name),
      measurements_(handle.signals),
      busy_(measurements_.Declare(BusyOf(args))),
      unmeasured_pods_(handle, busy_, [](const api::Pod&, const cluster::PodUse& use) {
        return static_cast<double>(use.non_zero_milli_cpu);
      }) {
  measurements_.Listen(busy_,
                       [this] { median_ = load_metrics::MedianOf(measurements_.signal(busy_).values); });
}

framework::Status CpuUsage::Score(const framework::Attempt& attempt, const RowSet& feasible,
                                  framework::ScoreColumn& scores) const {
  if (std::isnan(median_)) return {};
  const load_metrics::Signal& busy = measurements_.signal(busy_);
  const auto capacity = attempt.nodes().allocatable(cluster::kCpu);
  const auto column = scores.OverwriteBytes();
  feasible.ForEach([&](std::size_t at) {
    const Row row = static_cast<Row>(at);
    double percent = busy.At(row);
    if (std::isnan(percent)) percent = median_;
    if (row < capacity.size() && capacity[row] > 0)
      percent += 100 * unmeasured_pods_.At(row) / static_cast<double>(capacity[row]);
    column[row] = static_cast<std::uint8_t>(100 - std::clamp(percent, 0.0, 100.0));
  });
  if (LogsEachNode(feasible)) LogScores(attempt, feasible, scores);
  return {};
}

void CpuUsage::LogScores(const framework::Attempt& attempt, const RowSet& feasible,
                         const framework::ScoreColumn& scores) const {
  const load_metrics::Signal& busy = measurements_.signal(busy_);
  feasible.ForEach([&](std::size_t at) {
    const Row row = static_cast<Row>(at);
    const double percent = busy.At(row);
    if (std::isnan(percent)) return;
    log::Info(fmt::format("Node {} CPU usage: {:.2f}%, Score: {}", attempt.nodes().name(row), percent,
                          scores.At(row)));
  });
}

// --- recordings ---

Expected<framework::StateEncoder> CpuUsage::SaveState() {
  return EncodeLater(Saved{.unmeasured = unmeasured_pods_.Save(), .median = median_});
}

Expected<void> CpuUsage::RestoreState(std::string_view text) {
  BERTH_TRY(const Saved saved, ReadJsonFields<Saved>(text));
  if (!IsValue(saved.median)) return Invalid("median: expected a number");
  median_ = saved.median;
  return unmeasured_pods_.Restore(saved.unmeasured);
}

}  // namespace berth::plugins
