#include "command/scheduler_command.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "base/redact.hpp"
#include "command_line/flag_set.hpp"
#include "observability/log/log.hpp"
#include "process/effective_config.hpp"
#include "process/loaded_plugins.hpp"
#include "process/scheduler_flags.hpp"
#include "process/scheduler_process.hpp"
#include "process/write_effective_config.hpp"
#include "tools/shadow/shadow_process.hpp"

namespace berth::command {
namespace {

Expected<int> Schedule(const process::SchedulerFlags& flags, const command_line::FlagSet& table,
                       const runtime::Registry& built_in, const config::FeatureGates& gates,
                       std::vector<std::string> notes) {
  BERTH_RETURN_IF_ERROR(process::Validate(flags, gates));
  BERTH_TRY(const runtime::Registry plugins, process::WithLoadedPlugins(built_in, flags.own.plugins, notes));
  for (std::string& note : process::NotesOn(flags, table)) notes.push_back(std::move(note));
  BERTH_TRY(const config::SchedulerConfig config, process::EffectiveConfig(flags, table, plugins, gates));
  if (!flags.write_config_to.empty())
    return process::WriteEffectiveConfig(flags, config, plugins, std::move(notes));
  if (flags.own.shadow.on) return shadow::RunShadow(flags, table, config, plugins, std::move(notes));
  return process::RunScheduler(flags, table, config, plugins, std::move(notes));
}

void PrintHelp(const command_line::FlagSet& table) {
  fmt::print(
      "Schedules the pods of a cluster. A drop-in replacement for kube-scheduler v1.37.1 with the same flags "
      "and the\nsame configuration file. It can also run beside kube-scheduler, with other profile "
      "names.\n\nUsage:\n  berth scheduler [flags]\n  kube-scheduler [flags]   (called by that name)\n\n{}",
      table.Usage());
}

void PrintVersion(const process::SchedulerFlags& flags) {
  const std::string version = process::ReportedVersion(flags);
  if (flags.version.wanted == process::VersionFlag::Wanted::kRaw) {
    fmt::print(
        "version.Info{{Major:\"1\", Minor:\"37\", GitVersion:\"{}\", Compiler:\"g++ {}\", "
        "Platform:\"linux\"}}\n",
        version, __VERSION__);
  } else {
    fmt::print("Kubernetes {}\n", version);
  }
}

// Everything before the first log line. Returns true if the work is done.
Expected<bool> Begin(const process::SchedulerFlags& flags, const command_line::FlagSet& table,
                     config::FeatureGates& gates, std::vector<std::string>& notes) {
  if (flags.help) {
    PrintHelp(table);
    return true;
  }
  BERTH_RETURN_IF_ERROR(process::CheckNoArguments(table));
  BERTH_RETURN_IF_ERROR(process::CheckVersions(flags));
  BERTH_TRY(gates, config::FeatureGates::Parse(flags.feature_gates, notes));
  if (flags.version.wanted != process::VersionFlag::Wanted::kNothing) {
    PrintVersion(flags);
    return true;
  }
  BERTH_RETURN_IF_ERROR(process::ValidateLogging(flags, gates));
  return false;
}

int Complete(command_line::FlagSet& table, std::span<const std::string> words) {
  const std::string word = words.empty() ? "" : words.back();
  const auto candidates = table.Complete(words.first(words.empty() ? 0 : words.size() - 1), word);
  command_line::Print(candidates.value_or(command_line::Candidates{}));
  return 0;
}

}  // namespace

int RunSchedulerCommand(std::span<const std::string> args, const runtime::Registry& plugins) {
  process::SchedulerFlags flags;
  command_line::FlagSet table = process::TableOf(flags);
  config::FeatureGates gates;
  std::vector<std::string> notes;
  if (command_line::IsCompletion(args)) return Complete(table, args.subspan(1));
  const auto parsed = table.Parse(args);
  const Expected<bool> done =
      parsed ? Begin(flags, table, gates, notes) : Expected<bool>(std::unexpected(parsed.error()));
  if (!done) fmt::print(stderr, "Error: {}\n", done.error().message);
  if (!done || *done) return done ? 0 : 1;
  log::SetVerbosity(static_cast<int>(flags.log.verbosity));
  if (flags.log.format == "json") log::SetFormat(log::Format::kJson);
  if (const auto log = log::V(1)) {
    for (const auto& [name, value] : table.Values())
      log.Info(fmt::format("FLAG: --{}=\"{}\"", name, RedactUrl(value)));
  }
  const Expected<int> code = Schedule(flags, table, plugins, gates, std::move(notes));
  if (!code) log::Error("command failed", {{"err", code.error().message}});
  return code.value_or(1);
}

}  // namespace berth::command
