#include "tools/replay/replay.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "base/go_duration.hpp"
#include "base/json_text.hpp"
#include "base/progress_line.hpp"
#include "base/text_layout.hpp"
#include "base/version.hpp"
#include "observability/log/log.hpp"
#include "process/load_config.hpp"
#include "process/loaded_plugins.hpp"
#include "tools/replay/other_configuration.hpp"
#include "tools/replay/pod_cluster.hpp"
#include "tools/replay/repetition.hpp"

namespace berth::replay {
namespace {

std::string TextOf(const Repetition& result, const recording::Header& header) {
  std::string text = fmt::format("Recording of Berth {}, started {}\n", header.version, header.started);
  text += fmt::format("Repeated {} steps with {} scheduling attempts over {}\n", WithCommas(result.steps),
                      WithCommas(result.attempts),
                      FormatGoDuration(std::chrono::floor<std::chrono::milliseconds>(result.covered)));
  if (result.deviations > 0) {
    text +=
        fmt::format("{} readings of the clock differ in number; waiting pods may be tried in another order\n",
                    WithCommas(result.deviations));
  }
  if (result.difference) {
    text += fmt::format("The decisions differ at line {}: {}\n  recorded: {}\n  repeated: {}\n",
                        result.difference->line, result.difference->what, result.difference->recorded,
                        result.difference->repeated);
    return text;
  }
  for (const std::string& why : result.skipped)
    text += fmt::format("A part up to the next snapshot was skipped: {}\n", why);
  if (!result.ended_by.empty()) text += fmt::format("The rest cannot be repeated: {}\n", result.ended_by);
  text += result.attempts > 0 ? "All decisions are the same.\n" : "There are no decisions to compare.\n";
  return text;
}

std::string JsonOf(const Repetition& result, const recording::Header& header) {
  std::string out;
  {
    JsonObject object(out);
    object.Add("version", header.version).Add("started", header.started);
    object.AddNumber("steps", static_cast<std::int64_t>(result.steps));
    object.AddNumber("attempts", static_cast<std::int64_t>(result.attempts));
    object.AddNumber("nanoseconds", result.covered.count());
    object.AddNumber("clockDeviations", static_cast<std::int64_t>(result.deviations));
    object.AddRaw("same", result.difference ? "false" : "true");
    object.AddUnlessEmpty("skipped", result.skipped);
    object.AddUnlessEmpty("endedBy", result.ended_by);
    if (result.difference) {
      JsonObject(object.Key("difference"))
          .AddNumber("line", static_cast<std::int64_t>(result.difference->line))
          .Add("what", result.difference->what)
          .Add("recorded", result.difference->recorded)
          .Add("repeated", result.difference->repeated);
    }
  }
  return out + "\n";
}

Expected<int> RepeatRecording(Steps& steps, const ReplayOptions& options, const runtime::Registry& plugins) {
  if (steps.header().version != BerthVersion()) {
    fmt::print(
        stderr,
        "Note: the recording is of Berth {}, this is {}: differences may be changes between versions\n",
        steps.header().version, BerthVersion());
  }
  ProgressLine line;
  BERTH_TRY(const Repetition result, Repeat(steps, plugins, [&](const Repetition& so_far) {
              line.Show(fmt::format("{} steps, {} attempts", WithCommas(so_far.steps),
                                    WithCommas(so_far.attempts)));
            }));
  line.Clear();
  fmt::print("{}",
             options.output == "json" ? JsonOf(result, steps.header()) : TextOf(result, steps.header()));
  return result.difference ? 1 : 0;
}

Expected<int> CompareRecording(Steps& steps, const ReplayOptions& options, const runtime::Registry& plugins) {
  std::vector<std::string> notes;
  const std::string gate_values[] = {steps.header().gates};
  BERTH_TRY(const auto gates, config::FeatureGates::Parse(gate_values, notes));
  BERTH_TRY(const auto config, process::LoadConfig(options.config, plugins, gates));
  ProgressLine line;
  BERTH_TRY(const OtherDecisions result, Compare(steps, config, plugins, [&](std::uint64_t done) {
              line.Show(fmt::format("{} steps", WithCommas(done)));
            }));
  line.Clear();
  if (!result.ended_by.empty()) fmt::print(stderr, "The rest is not compared: {}\n", result.ended_by);
  fmt::print("{}", options.output == "json" ? result.json : result.text);
  return 0;
}

// The first pass finds the attempt, the second one repeats up to it.
Expected<int> PrintCluster(Steps& steps, const ReplayOptions& options, const runtime::Registry& plugins) {
  const std::string pod = (options.pod.contains('/') ? "" : "default/") + options.pod;
  BERTH_TRY(const FoundAttempt found, FindAttempt(steps, pod, options.attempt));
  BERTH_TRY(Steps again, Steps::Open(options.directory));
  ProgressLine line;
  Expected<std::size_t> written = 0;
  BERTH_RETURN_IF_ERROR(RepeatUntil(
      found.line, again, plugins,
      [&](const Moment& moment) {
        line.Clear();
        written = WriteCluster(moment, pod, stdout);
      },
      [&](const Repetition& so_far) { line.Show(fmt::format("{} steps", WithCommas(so_far.steps))); }));
  BERTH_TRY(const std::size_t objects, std::move(written));
  fmt::print(stderr, "{} objects before attempt {} of {} of pod {}: {}{}{}\n", WithCommas(objects),
             found.number, found.count, pod, found.result, found.reason.empty() ? "" : ": ", found.reason);
  return 0;
}

}  // namespace

Expected<int> RunReplay(const ReplayOptions& options, const runtime::Registry& built_in) {
  if (!options.pod.empty() && !options.config.empty())
    return Invalid("--pod and --config: expected one of them, got both");
  if (options.pod.empty() && options.attempt != 0)
    return Invalid(fmt::format("--attempt {}: expected also --pod", options.attempt));
  std::vector<std::string> notes;
  BERTH_TRY(const auto plugins, process::WithLoadedPlugins(built_in, options.plugins, notes));
  for (const std::string& note : notes) fmt::print(stderr, "Note: {}\n", note);
  log::SetVerbosity(-1);
  BERTH_TRY(Steps steps, Steps::Open(options.directory));
  if (options.print_config) {
    fmt::print("{}", steps.header().config);
    return 0;
  }
  if (!options.pod.empty()) return PrintCluster(steps, options, plugins);
  return options.config.empty() ? RepeatRecording(steps, options, plugins)
                                : CompareRecording(steps, options, plugins);
}

}  // namespace berth::replay
