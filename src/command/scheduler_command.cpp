#include "command/scheduler_command.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "command/effective_config.hpp"
#include "command/pflags.hpp"
#include "command/scheduler_flags.hpp"
#include "command/scheduler_process.hpp"
#include "log/log.hpp"

namespace berth::command {
namespace {

Expected<int> Schedule(const SchedulerFlags& flags, const PFlags& table) {
  std::vector<std::string> notes = NotesOn(flags, table);
  BERTH_TRY(const config::SchedulerConfig config, EffectiveConfig(flags, table, notes));
  return RunScheduler(flags, table, config, std::move(notes));
}

void PrintHelp(const PFlags& table) {
  fmt::print(
      "Schedules the pods of a cluster: each gets a node that its constraints allow and that the profile's "
      "plugins\n"
      "like best. Takes the place of kube-scheduler v1.37.1 (or stands beside it, with a profile name of its "
      "own)\n"
      "with its flags and its configuration file.\n\n"
      "Usage:\n  berth scheduler [flags]\n  kube-scheduler [flags]   (called by that name)\n\n{}",
      table.Usage());
}

void PrintVersion(const SchedulerFlags& flags) {
  const std::string version = ReportedVersion(flags);
  if (flags.version == "raw") {
    fmt::print(
        "version.Info{{Major:\"1\", Minor:\"37\", GitVersion:\"{}\", Compiler:\"g++ {}\", "
        "Platform:\"linux\"}}\n",
        version, __VERSION__);
  } else {
    fmt::print("Kubernetes {}\n", version);
  }
}

}  // namespace

int RunSchedulerCommand(std::span<const std::string> args) {
  SchedulerFlags flags;
  PFlags table = TableOf(flags);
  auto parsed = table.Parse(args);
  if (parsed && table.help_wanted()) {
    PrintHelp(table);
    return 0;
  }
  if (parsed && (flags.version == "true" || flags.version == "raw")) {
    PrintVersion(flags);
    return 0;
  }
  if (!parsed) {
    fmt::print(stderr, "Error: {}\n", parsed.error().message);
    return 1;
  }
  if (auto valid = ValidateLogging(flags); !valid) {
    fmt::print(stderr, "Error: {}\n", valid.error().message);
    return 1;
  }
  log::SetVerbosity(static_cast<int>(flags.log.verbosity));
  if (flags.log.format == "json") log::SetFormat(log::Format::kJson);
  if (const auto log = log::V(1)) {
    for (const auto& [name, value] : table.Values()) log.Info(fmt::format("FLAG: --{}=\"{}\"", name, value));
  }
  Expected<int> ran = 1;
  if (auto valid = Validate(flags); !valid) {
    ran = std::unexpected(std::move(valid).error());
  } else {
    ran = Schedule(flags, table);
  }
  if (!ran) log::Error("command failed", {{"err", ran.error().message}});
  return ran.value_or(1);
}

}  // namespace berth::command
