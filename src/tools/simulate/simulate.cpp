#include "tools/simulate/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <optional>

#include "base/files.hpp"
#include "base/progress_line.hpp"
#include "base/text_layout.hpp"
#include "process/load_config.hpp"
#include "process/loaded_plugins.hpp"
#include "process/signals.hpp"
#include "tools/scheduler_perf/test_file.hpp"
#include "tools/simulate/performance_test.hpp"
#include "tools/simulate/placement_file.hpp"
#include "tools/simulate/report.hpp"
#include "tools/simulate/run.hpp"
#include "tools/simulate/workload_file.hpp"

namespace berth::simulate {
namespace {

struct NamedConfig {
  std::string name;
  config::SchedulerConfig config;
};

// All are read before the first run, so that an error in the last one costs no time. Simulated pods have no
// extenders: their replies would not be repeatable.
Expected<std::vector<NamedConfig>> LoadConfigs(const SimulateOptions& options,
                                               const runtime::Registry& plugins,
                                               const config::FeatureGates& gates) {
  std::vector<std::string> files = options.configs;
  if (files.empty()) files.emplace_back();
  std::vector<NamedConfig> configs;
  for (const std::string& file : files) {
    BERTH_TRY(config::SchedulerConfig config, process::LoadConfig(file, plugins, gates));
    if (!config.extenders.empty())
      return Invalid(fmt::format("{}: extenders: not simulated; remove them from the file", file));
    configs.push_back({file.empty() ? "default" : file.substr(file.rfind('/') + 1), std::move(config)});
  }
  return configs;
}

// "pack.yaml [#########.....................] 30%, 1h30m of 5h00m, 12,345 bindings"
std::string ProgressText(const std::string& configuration, Duration simulated, Duration whole,
                         std::uint64_t bindings) {
  constexpr int kCells = 30;
  const double share = std::chrono::duration<double>(simulated) / std::chrono::duration<double>(whole);
  const int full = std::clamp(static_cast<int>(share * kCells), 0, kCells);
  return fmt::format("{} [{}{}] {:.0f}%, {} of {}, {} bindings", configuration, std::string(full, '#'),
                     std::string(kCells - full, '.'), share * 100, ShowDuration(simulated),
                     ShowDuration(whole), WithCommas(bindings));
}

Expected<yaml::Value> ReadRoot(const std::string& path) {
  BERTH_TRY(const std::string text, ReadWholeFile(path));
  auto root = yaml::ParseValue(text);
  if (!root) return std::unexpected(std::move(root).error().In(path));
  return root;
}

}  // namespace

Expected<int> RunSimulate(const SimulateOptions& options, const runtime::Registry& built_in) {
  std::atomic<bool> stop{false};
  process::Signals signals;
  std::vector<std::string> notes;
  const auto plugins = process::WithLoadedPlugins(built_in, options.plugins, notes);
  if (!plugins) return std::unexpected(plugins.error());
  signals.OnFirst([&stop] { stop.store(true); });
  BERTH_TRY(const yaml::Value root, ReadRoot(options.workload));
  if (scheduler_perf::IsTestFile(root)) return RunPerformanceTest(options, root, *plugins, stop);
  if (!options.test.empty())
    return Invalid(
        fmt::format("--test: {} is a workload; the flag chooses one of kube-scheduler's performance tests",
                    options.workload));
  BERTH_TRY(const auto gates, config::FeatureGates::Parse(options.feature_gates, notes));
  BERTH_TRY(const auto configs, LoadConfigs(options, *plugins, gates));
  auto read = ReadWorkload(root, FolderOf(options.workload));
  if (!read) return std::unexpected(std::move(read).error().In(options.workload));
  const Workload workload = *std::move(read);
  for (const std::string& note : notes) fmt::print(stderr, "Note: {}\n", note);

  std::optional<PlacementFile> placements;
  if (!options.placements.empty()) {
    BERTH_TRY(placements, PlacementFile::Open(options.placements));
  }
  std::vector<Result> results;
  ProgressLine line;
  for (const NamedConfig& config : configs) {
    const auto progress = [&](Duration simulated, std::uint64_t bindings) {
      line.Show(ProgressText(config.name, simulated, workload.duration, bindings));
    };
    RunOptions run{.configuration = config.name, .seed = options.seed};
    if (placements) {
      run.placements = [&](Duration at, const api::Pod& pod) { placements->Add(config.name, at, pod); };
    }
    auto result = RunWorkload(workload, config.config, *plugins, run, stop, progress);
    line.Clear();
    if (!result) return std::unexpected(std::move(result).error().In(config.name));
    results.push_back(*std::move(result));
    if (stop.load()) break;
  }
  if (placements) BERTH_RETURN_IF_ERROR(placements->Close(options.placements));
  const ReportHead head{.workload = options.workload.substr(options.workload.rfind('/') + 1),
                        .seed = options.seed,
                        .duration = workload.duration};
  if (!options.report.empty())
    BERTH_RETURN_IF_ERROR(WriteFileAtomically(options.report, ReportHtml(head, results), 0644));
  fmt::print("{}", options.output == "json" ? ReportJson(head, results) : ReportText(head, results));
  return stop.load() ? 2 : 0;
}

}  // namespace berth::simulate
