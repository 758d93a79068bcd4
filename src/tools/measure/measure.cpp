#include "tools/measure/measure.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "base/files.hpp"
#include "kubernetes/client/environment.hpp"
#include "process/load_config.hpp"
#include "process/loaded_plugins.hpp"
#include "process/measuring.hpp"
#include "scheduler/assembly/explainer.hpp"

namespace berth::measure {
namespace {

using cluster::Row;
using load_metrics::Signal;
using load_metrics::SignalId;
using load_metrics::SignalTable;

void PrintValues(const Signal& signal, const cluster::NodeTable& nodes) {
  nodes.all().ForEach([&](std::size_t at) {
    const Row row = static_cast<Row>(at);
    const double value = signal.At(row);
    fmt::print("    {:<40} {}\n", nodes.name(row), std::isnan(value) ? "-" : fmt::format("{:.6g}", value));
  });
}

// True if there is a value.
bool PrintWorkloads(const Signal& signal, bool values) {
  const load_metrics::SignalCoverage& coverage = signal.coverage;
  fmt::print("  workloads: {}", coverage.series);
  if (coverage.dropped_series > 0) fmt::print("; {} series beyond the limit", coverage.dropped_series);
  fmt::print("\n");
  if (values) {
    for (const load_metrics::SeriesValue& series : signal.series) {
      std::string name;
      for (const auto& [label, value] : series.name) name += (name.empty() ? "" : "/") + value;
      fmt::print("    {:<40} {:.6g}\n", name, series.value);
    }
  }
  return coverage.series > 0;
}

// True if nothing is missing.
bool PrintSignal(const Signal& signal, const cluster::NodeTable& nodes, bool values) {
  const load_metrics::SignalCoverage& coverage = signal.coverage;
  fmt::print("{}\n  source: {}\n  query:  {}\n", signal.spec.name, signal.spec.source,
             signal.spec.expression);
  if (!signal.error.empty()) {
    fmt::print("  failed: {}\n", signal.error);
    return false;
  }
  if (signal.spec.subject == load_metrics::Subject::kPod) {
    fmt::print("  answered, with values per pod\n");
    return true;
  }
  if (signal.spec.subject == load_metrics::Subject::kWorkload) return PrintWorkloads(signal, values);
  fmt::print("  nodes: {} of {} measured", coverage.measured, coverage.nodes);
  if (coverage.distrusted > 0) fmt::print(", {} ignored (stale or too recent)", coverage.distrusted);
  if (coverage.merged > 0) fmt::print("; {} additional series for the same node", coverage.merged);
  fmt::print("\n");
  if (coverage.unmatched_series > 0) {
    fmt::print("  series without a matching node: {}, for example\n", coverage.unmatched_series);
    for (const std::string& series : coverage.unmatched) fmt::print("    {}\n", series);
  }
  const bool whole = coverage.measured == coverage.nodes;
  if (!whole && !values) {
    fmt::print("  not measured:\n");
    nodes.all().ForEach([&](std::size_t row) {
      if (std::isnan(signal.At(static_cast<Row>(row))))
        fmt::print("    {}\n", nodes.name(static_cast<Row>(row)));
    });
  }
  if (values) PrintValues(signal, nodes);
  return whole;
}

}  // namespace

Expected<int> RunMeasure(const MeasureOptions& options, const runtime::Registry& built_in) {
  std::vector<std::string> notes;
  const auto plugins = process::WithLoadedPlugins(built_in, options.plugins, notes);
  if (!plugins) return std::unexpected(plugins.error());
  auto config = process::LoadConfig(options.config, *plugins);
  if (!config) return std::unexpected(config.error());
  config->extenders.clear();  // they use no measurements
  auto explainer = assembly::Explainer::Create(*config, *plugins, notes);
  if (!explainer) return std::unexpected(explainer.error());
  std::vector<std::string> problems;
  for (const std::string& file : options.files) {
    const auto text = ReadWholeFile(file);
    if (!text) return std::unexpected(text.error());
    const auto loaded = (*explainer)->Load(*text, file == "-" ? "standard input" : file, problems);
    if (!loaded) return std::unexpected(loaded.error());
  }
  (*explainer)->FillCluster();
  framework::Handle& handle = (*explainer)->engine().handle();
  auto& measurements = handle.signals;
  if (measurements.size() == 0)
    return Fail(ErrorCode::kInvalid, "no plugin of the configuration uses measurements");
  const SystemClock clock;
  const client::SystemEnvironment environment;
  if (const auto measured = process::MeasureOnce(options.sources, handle, environment, clock); !measured)
    return std::unexpected(measured.error());
  bool whole = true;
  for (std::size_t i = 0; i < measurements.size(); ++i)
    whole &= PrintSignal(measurements.signal(static_cast<SignalId>(i)), handle.nodes, options.values);
  return whole ? 0 : 2;
}

}  // namespace berth::measure
