#include "command/config_command.hpp"

#include "command_line/command.hpp"
#include "process/loaded_plugins.hpp"
#include "tools/configuration/configuration.hpp"

namespace berth::command {
namespace {

using Arguments = std::span<const std::string>;

// Accepted before and after the subcommand.
void AddSharedFlags(command_line::FlagSet& flags, configuration::ReadOptions& options) {
  flags.List(
      "feature-gates", "GATES", options.feature_gates,
      "feature gates as the scheduler gets them: Feature=true|false, comma-separated; may be repeated");
  process::AddPluginFlag(flags, options.plugins);
}

int RunCheck(Arguments args, configuration::ReadOptions read, const runtime::Registry& plugins) {
  configuration::CheckOptions options{.read = std::move(read), .files = {}};
  command_line::Command command(
      "berth config check",
      "Checks whether a scheduler would start with these files, and reports changes "
      "of their meaning; exit code 1 if a file is invalid.");
  command.Example("berth config check scheduler.yaml other.yaml");
  command.Arguments("FILE", options.files, "configuration files, '-' for standard input");
  AddSharedFlags(command.flags(), options.read);
  if (const auto code = command.Parse(args)) return *code;
  return command_line::ExitCode(configuration::RunCheck(options, plugins));
}

int RunConvert(Arguments args, configuration::ReadOptions read, const runtime::Registry& plugins) {
  configuration::ConvertOptions options{.read = std::move(read), .file = {}};
  command_line::Command command(
      "berth config convert",
      "Writes the effective configuration as kubescheduler.config.k8s.io/v1 with all "
      "defaults; reports changes of meaning on standard error.");
  command.Example("berth config convert old.yaml --output scheduler.yaml");
  command.Argument("FILE", options.file, "the configuration file, '-' for standard input");
  command.flags().Path("output", options.output, "output file, '-' for standard output");
  command.flags().Shorthand('o');
  AddSharedFlags(command.flags(), options.read);
  if (const auto code = command.Parse(args)) return *code;
  return command_line::ExitCode(configuration::RunConvert(options, plugins));
}

int RunFields(Arguments args, configuration::ReadOptions options, const runtime::Registry& plugins) {
  command_line::Command command(
      "berth config fields",
      "Prints every field of a v1 file and of the plugins' arguments in four columns "
      "separated by tabs: owner, path, type, default.");
  AddSharedFlags(command.flags(), options);
  if (const auto code = command.Parse(args)) return *code;
  return command_line::ExitCode(configuration::RunFields(options, plugins));
}

}  // namespace

int RunConfigCommand(std::span<const std::string> args, const runtime::Registry& plugins) {
  configuration::ReadOptions options;
  command_line::Command command(
      "berth config",
      "Checks and converts scheduler configuration files: KubeSchedulerConfiguration of any version from "
      "v1alpha1 to v1, and the legacy Policy, as YAML or JSON.");
  AddSharedFlags(command.flags(), options);
  command.Subcommand("check", "checks whether a scheduler would start with these files",
                     [&](Arguments rest) { return RunCheck(rest, options, plugins); });
  command.Subcommand("convert", "writes the effective configuration in version v1 with all defaults",
                     [&](Arguments rest) { return RunConvert(rest, options, plugins); });
  command.Subcommand("fields", "prints every field of a v1 file and of the plugins' arguments",
                     [&](Arguments rest) { return RunFields(rest, options, plugins); });
  return command.Dispatch(args);
}

}  // namespace berth::command
