#include "tools/simulate/simulate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <optional>

#include "base/files.hpp"
#include "base/hex.hpp"
#include "base/invisible_characters.hpp"
#include "base/progress_line.hpp"
#include "base/text_layout.hpp"
#include "base/version.hpp"
#include "process/loaded_plugins.hpp"
#include "process/signals.hpp"
#include "service/auth/sha256.hpp"
#include "tools/scheduler_perf/test_file.hpp"
#include "tools/simulate/checkpoint.hpp"
#include "tools/simulate/named_configs.hpp"
#include "tools/simulate/performance_run.hpp"
#include "tools/simulate/placement_file.hpp"
#include "tools/simulate/report.hpp"
#include "tools/simulate/run.hpp"
#include "tools/simulate/workload_file.hpp"

namespace berth::simulate {
namespace {

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

struct WorkloadText {
  std::string text;
  yaml::Value root;
};

Expected<WorkloadText> ReadWorkloadText(const std::string& path) {
  WorkloadText read;
  BERTH_TRY(read.text, ReadWholeFile(path));
  auto root = yaml::ParseValue(read.text);
  if (!root) return std::unexpected(std::move(root).error().In(path));
  read.root = *std::move(root);
  return read;
}

// A recording is of one scheduler, from the first step on.
Expected<void> CheckRecording(const SimulateOptions& options) {
  if (options.recording.directory.empty()) return {};
  if (options.configs.size() > 1)
    return Invalid(fmt::format("--recording: records one configuration; --config is given {} times",
                               options.configs.size()));
  if (!options.checkpoint.empty())
    return Invalid("--recording: leave out --checkpoint, which has results only");
  if (!options.test.empty())
    return Invalid("--recording: tests of kube-scheduler are not recorded; leave out --test");
  return {};
}

// --- the identity of a comparison ---

Expected<std::string> DigestOfFile(const std::string& path) {
  BERTH_TRY(const std::string text, ReadWholeFile(path));
  return Hex(service::Sha256(text));
}

// Of the file and the traces that it names.
Expected<std::string> DigestOfWorkload(const WorkloadText& workload, const std::string& folder) {
  std::string parts = service::Sha256(workload.text);
  if (const yaml::Value* trace = workload.root.Find("trace")) {
    for (const auto* field : {"nodes", "pods"}) {
      const yaml::Value* file = trace->Find(field);
      if (file == nullptr) continue;
      BERTH_TRY(const std::string digest, DigestOfFile(InFolder(folder, file->text)));
      parts += digest;
    }
  }
  return Hex(service::Sha256(parts));
}

// Digests are shortened for messages: 64 bits distinguish files that are not made to collide.
std::string NameAndDigest(const std::string& path, std::string_view digest) {
  constexpr std::size_t kShown = 16;
  return fmt::format("{} (sha256 {})", path.substr(path.rfind('/') + 1), digest.substr(0, kShown));
}

// Everything that the report depends on.
Expected<RunIdentity> IdentityOf(const SimulateOptions& options, const WorkloadText& workload) {
  RunIdentity identity;
  BERTH_TRY(const std::string program, DigestOfFile("/proc/self/exe"));
  identity.emplace_back("build", NameAndDigest(std::string(BerthVersion()), program));
  BERTH_TRY(const std::string digest, DigestOfWorkload(workload, FolderOf(options.workload)));
  identity.emplace_back("workload", NameAndDigest(options.workload, digest));
  identity.emplace_back("seed", std::to_string(options.seed));
  identity.emplace_back("feature gates", fmt::format("{}", fmt::join(options.feature_gates, ",")));
  for (std::size_t i = 0; i < options.configs.size(); ++i) {
    BERTH_TRY(const std::string config, DigestOfFile(options.configs[i]));
    identity.emplace_back(fmt::format("configuration {}", i + 1), NameAndDigest(options.configs[i], config));
  }
  for (std::size_t i = 0; i < options.plugins.size(); ++i) {
    BERTH_TRY(const std::string plugin, DigestOfFile(options.plugins[i]));
    identity.emplace_back(fmt::format("plugin {}", i + 1), NameAndDigest(options.plugins[i], plugin));
  }
  return identity;
}

Expected<std::optional<Checkpoint>> OpenCheckpoint(const SimulateOptions& options,
                                                   const WorkloadText& workload) {
  if (options.checkpoint.empty()) {
    if (options.resume) return Invalid("--resume: needs --checkpoint with the file to continue");
    return std::nullopt;
  }
  if (!options.placements.empty())
    return Invalid("--checkpoint: bindings are not stored; leave out --placements");
  BERTH_TRY(RunIdentity identity, IdentityOf(options, workload));
  return options.resume ? Checkpoint::Resume(options.checkpoint, std::move(identity))
                        : Checkpoint::Create(options.checkpoint, std::move(identity));
}

// --- runs ---

struct Comparison {
  const SimulateOptions& options;
  const Workload& workload;
  const std::vector<NamedConfig>& configs;
  const runtime::Registry& plugins;
  const std::atomic<bool>& stop;
};

Expected<Result> RunOne(const Comparison& comparison, const NamedConfig& config,
                        std::optional<PlacementFile>& placements) {
  ProgressLine line;
  const auto progress = [&](Duration simulated, std::uint64_t bindings) {
    line.Show(ProgressText(config.name, simulated, comparison.workload.duration, bindings));
  };
  RunOptions run{.configuration = config.name,
                 .seed = comparison.options.seed,
                 .recording = comparison.options.recording};
  if (placements) {
    run.placements = [&](Duration at, const api::Pod& pod) { placements->Add(config.name, at, pod); };
  }
  auto result =
      RunWorkload(comparison.workload, config.config, comparison.plugins, run, comparison.stop, progress);
  if (!result) return std::unexpected(std::move(result).error().In(config.name));
  return result;
}

// Finished configurations of the checkpoint are not run again.
Expected<std::vector<Result>> RunAll(const Comparison& comparison, std::optional<Checkpoint>& checkpoint) {
  const SimulateOptions& options = comparison.options;
  std::optional<PlacementFile> placements;
  if (!options.placements.empty()) {
    BERTH_TRY(placements, PlacementFile::Open(options.placements));
  }
  std::vector<Result> results;
  if (checkpoint) results = checkpoint->results();
  for (std::size_t i = results.size(); i < comparison.configs.size() && !comparison.stop.load(); ++i) {
    BERTH_TRY(Result result, RunOne(comparison, comparison.configs[i], placements));
    if (checkpoint && result.complete) BERTH_RETURN_IF_ERROR(checkpoint->Add(result));
    results.push_back(std::move(result));
  }
  if (placements) BERTH_RETURN_IF_ERROR(placements->Close(options.placements));
  return results;
}

void ExplainResume(const SimulateOptions& options, const Checkpoint& checkpoint, std::size_t configs) {
  fmt::print(stderr,
             "Interrupted: {} of {} configurations are finished and stored in {}. To continue, run the same "
             "command with --checkpoint {} --resume; the interrupted configuration starts again.\n",
             checkpoint.results().size(), configs, options.checkpoint, options.checkpoint);
}

Expected<void> PrintReport(const SimulateOptions& options, const Workload& workload,
                           const std::vector<Result>& results) {
  const ReportHead head{.workload = options.workload.substr(options.workload.rfind('/') + 1),
                        .seed = options.seed,
                        .duration = workload.duration};
  if (!options.report.empty())
    BERTH_RETURN_IF_ERROR(WriteOutputFile(options.report, ReportHtml(head, results)));
  fmt::print("{}", options.output == "json" ? ReportJson(head, results) : ReportText(head, results));
  return {};
}

}  // namespace

Expected<int> RunSimulate(const SimulateOptions& options, const runtime::Registry& built_in) {
  BERTH_RETURN_IF_ERROR(CheckRecording(options));
  std::atomic<bool> stop{false};
  process::Signals signals;
  std::vector<std::string> notes;
  const auto plugins = process::WithLoadedPlugins(built_in, options.plugins, notes);
  if (!plugins) return std::unexpected(plugins.error());
  signals.OnFirst([&stop] { stop.store(true); });
  BERTH_TRY(const WorkloadText text, ReadWorkloadText(options.workload));
  if (scheduler_perf::IsTestFile(text.root)) return RunPerformanceTest(options, text.root, *plugins, stop);
  if (!options.test.empty())
    return Invalid(
        fmt::format("--test: {} is a workload; the flag chooses one of kube-scheduler's performance tests",
                    options.workload));
  BERTH_TRY(const auto gates, config::FeatureGates::Parse(options.feature_gates, notes));
  // All are read before the first run, so that an error in the last one costs no time.
  std::vector<std::string> files = options.configs;
  if (files.empty()) files.emplace_back();
  BERTH_TRY(const auto configs, LoadConfigs(files, *plugins, gates));
  auto workload = WithInvisibleCharacter(ReadWorkload(text.root, FolderOf(options.workload)), text.text);
  if (!workload) return std::unexpected(std::move(workload).error().In(options.workload));
  BERTH_TRY(auto checkpoint, OpenCheckpoint(options, text));
  for (const std::string& note : notes) fmt::print(stderr, "Note: {}\n", note);

  BERTH_TRY(const std::vector<Result> results,
            RunAll({options, *workload, configs, *plugins, stop}, checkpoint));
  const bool interrupted = stop.load() && (results.size() < configs.size() || !results.back().complete);
  if (interrupted && checkpoint) ExplainResume(options, *checkpoint, configs.size());
  if (!results.empty()) BERTH_RETURN_IF_ERROR(PrintReport(options, *workload, results));
  return interrupted ? 2 : 0;
}

}  // namespace berth::simulate
