#include "tools/simulate/performance_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/files.hpp"
#include "base/progress_line.hpp"
#include "tools/scheduler_perf/report.hpp"
#include "tools/scheduler_perf/run.hpp"
#include "tools/scheduler_perf/test_file.hpp"
#include "tools/simulate/named_configs.hpp"
#include "tools/simulate/placement_file.hpp"
#include "tools/simulate/report.hpp"

namespace berth::simulate {
namespace {

using scheduler_perf::PerformanceTest;
using scheduler_perf::TestFile;
using scheduler_perf::TestResult;

std::unexpected<Error> NoTestChosen(const SimulateOptions& options, const TestFile& file) {
  const std::vector<std::string> names = file.Names();
  return Invalid(
      fmt::format("{}: the file has {} performance tests; choose one with --test, for example --test {}; "
                  "--test list prints all",
                  options.workload, names.size(), names.front()));
}

// Configurations of the command line replace that of the test.
std::vector<std::string> ConfigFilesOf(const SimulateOptions& options, const PerformanceTest& test) {
  if (!options.configs.empty()) return options.configs;
  return {test.scheduler_config.empty() ? "" : InFolder(FolderOf(options.workload), test.scheduler_config)};
}

Expected<void> CheckFlags(const SimulateOptions& options) {
  if (!options.report.empty()) return Invalid("--report: performance tests have no plots; use -o json");
  if (!options.checkpoint.empty() || options.resume)
    return Invalid("--checkpoint: performance tests are not stored; they take seconds");
  return {};
}

}  // namespace

Expected<int> RunPerformanceTest(const SimulateOptions& options, const yaml::Value& root,
                                 const runtime::Registry& plugins, const std::atomic<bool>& stop) {
  auto file = scheduler_perf::ParseTestFile(root);
  if (!file) return std::unexpected(std::move(file).error().In(options.workload));
  if (options.test.empty()) return NoTestChosen(options, *file);
  if (options.test == "list") {
    fmt::print("{}",
               options.output == "json" ? scheduler_perf::ListJson(*file) : scheduler_perf::ListText(*file));
    return 0;
  }
  BERTH_RETURN_IF_ERROR(CheckFlags(options));
  const std::string folder = FolderOf(options.workload);
  scheduler_perf::TemplateFiles templates(
      [&](const std::string& path) { return ReadWholeFile(InFolder(folder, path)); });
  auto test = scheduler_perf::ResolveTest(*file, options.test, templates);
  if (!test) return std::unexpected(std::move(test).error().In(options.workload + ": --test"));

  std::vector<std::string> notes;
  std::vector<std::string> gate_flags = test->feature_gates;
  gate_flags.insert(gate_flags.end(), options.feature_gates.begin(), options.feature_gates.end());
  BERTH_TRY(const auto gates, config::FeatureGates::Parse(gate_flags, notes));
  BERTH_TRY(const auto configs, LoadConfigs(ConfigFilesOf(options, *test), plugins, gates));
  for (const std::string& note : notes) fmt::print(stderr, "Note: {}\n", note);
  std::optional<PlacementFile> placements;
  if (!options.placements.empty()) {
    BERTH_TRY(placements, PlacementFile::Open(options.placements));
  }

  std::vector<TestResult> results;
  ProgressLine line;
  for (const NamedConfig& config : configs) {
    scheduler_perf::RunTestOptions run{.configuration = config.name, .seed = options.seed};
    run.progress = [&](std::size_t operation) {
      line.Show(fmt::format("{}: operation {} of {}, {}", config.name, operation + 1, test->operations.size(),
                            test->operations[operation].opcode));
    };
    if (placements) {
      run.placements = [&](Duration at, const api::Pod& pod) { placements->Add(config.name, at, pod); };
    }
    auto result = scheduler_perf::RunTest(*test, config.config, plugins, run, stop);
    line.Clear();
    if (!result)
      return std::unexpected(std::move(result).error().In(fmt::format("{}: {}", options.test, config.name)));
    results.push_back(*std::move(result));
    if (stop.load()) break;
  }
  if (placements) BERTH_RETURN_IF_ERROR(placements->Close(options.placements));
  const scheduler_perf::TestReportHead head{.file = options.workload.substr(options.workload.rfind('/') + 1),
                                            .test = options.test,
                                            .seed = options.seed,
                                            .notes = test->notes};
  fmt::print("{}", options.output == "json" ? scheduler_perf::ReportJson(head, results)
                                            : scheduler_perf::ReportText(head, results));
  return stop.load() ? 2 : 0;
}

}  // namespace berth::simulate
