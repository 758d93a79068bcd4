#include "command/config_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <set>

#include "command/flags.hpp"
#include "config/field_list.hpp"
#include "config/write_config.hpp"
#include "process/load_config.hpp"
#include "process/loaded_plugins.hpp"
#include "process/write_file.hpp"

namespace berth::command {
namespace {

struct Options {
  std::vector<std::string> check;
  std::string convert;
  std::string output = "-";
  std::vector<std::string> feature_gates;
  std::vector<std::string> plugins;  // shared objects
};

struct Loaded {
  config::SchedulerConfig config;
  std::vector<std::string> notes;
};

// Reads the file and builds its plugins, like the scheduler.
Expected<Loaded> Load(const std::string& path, const Options& options, const runtime::Registry& plugins) {
  Loaded loaded;
  BERTH_TRY(const auto gates, config::FeatureGates::Parse(options.feature_gates, loaded.notes));
  BERTH_TRY(loaded.config, process::LoadConfig(path, plugins, gates));
  auto built = process::TryPlugins(loaded.config, plugins, loaded.notes);
  if (!built) return std::unexpected(std::move(built).error().In(path));
  return loaded;
}

std::size_t CountPlugins(const config::Profile& profile) {
  std::set<std::string_view> names;
  for (const config::PluginSet& set : profile.plugins) {
    for (const config::PluginRef& plugin : set.enabled) names.insert(plugin.name);
  }
  return names.size();
}

int Check(const Options& options, const runtime::Registry& plugins) {
  int code = 0;
  for (const std::string& path : options.check) {
    const auto loaded = Load(path, options, plugins);
    if (!loaded) {
      fmt::print(stderr, "Error: {}\n", loaded.error().message);
      code = 1;
      continue;
    }
    fmt::print("{}: valid, {}\n", path, loaded->config.version);
    for (const config::Profile& profile : loaded->config.profiles)
      fmt::print("  profile {}: {} plugins\n", profile.scheduler_name, CountPlugins(profile));
    for (const std::string& note : loaded->notes) fmt::print("  warning: {}\n", note);
  }
  return code;
}

int Convert(const Options& options, const runtime::Registry& plugins) {
  const auto loaded = Load(options.convert, options, plugins);
  if (!loaded) {
    fmt::print(stderr, "Error: {}\n", loaded.error().message);
    return 1;
  }
  const std::string text = config::WriteConfigYaml(loaded->config, plugins.codecs());
  if (options.output == "-") {
    fmt::print("{}", text);
  } else if (const auto written = process::WriteFileAtomically(options.output, text, 0644); !written) {
    fmt::print(stderr, "Error: {}\n", written.error().message);
    return 1;
  }
  fmt::print(stderr, "Converted {} from {} to kubescheduler.config.k8s.io/v1.\n", options.convert,
             loaded->config.version);
  for (const std::string& note : loaded->notes) fmt::print(stderr, "  {}\n", note);
  return 0;
}

// One field per line: its type, path, field type and default, separated by tabs.
int PrintFields(const runtime::Registry& plugins) {
  const auto print = [](std::string_view owner, const std::vector<config::FieldFact>& fields) {
    for (const config::FieldFact& field : fields)
      fmt::print("{}\t{}\t{}\t{}\n", owner, field.path, field.type, field.default_json);
  };
  print("KubeSchedulerConfiguration", config::FieldsOfConfiguration());
  for (const auto& [plugin, codec] : plugins.codecs()) print(plugin, config::FieldsOf(codec));
  return 0;
}

void AddSharedFlags(CLI::App& app, Options& options) {
  app.add_option(
         "--feature-gates", options.feature_gates,
         "feature gates as the scheduler gets them: Feature=true|false, comma-separated; may be repeated")
      ->type_name("GATES")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  process::AddPluginFlag(app, options.plugins);
}

}  // namespace

int RunConfigCommand(std::span<const std::string> args, const runtime::Registry& plugins) {
  Options options;
  CLI::App app(
      "Checks and converts scheduler configuration files: KubeSchedulerConfiguration of any version from "
      "v1alpha1 to v1, and the legacy Policy, as YAML or JSON.\n\n  berth config check scheduler.yaml "
      "other.yaml\n  berth config convert old.yaml --output scheduler.yaml",
      "berth config");
  app.require_subcommand(1);
  CLI::App* check = app.add_subcommand("check",
                                       "Checks whether a scheduler would start with these files, and reports "
                                       "changes of their meaning; exit code 1 if a file is invalid");
  check->add_option("FILE", options.check, "configuration files, '-' for standard input")
      ->required()
      ->type_name("");
  CLI::App* convert =
      app.add_subcommand("convert",
                         "Writes the effective configuration as kubescheduler.config.k8s.io/v1 with all "
                         "defaults; reports changes of meaning on standard error");
  convert->add_option("FILE", options.convert, "the configuration file, '-' for standard input")
      ->required()
      ->type_name("");
  convert->add_option("-o,--output", options.output, "output file, '-' for standard output")
      ->type_name("FILE")
      ->capture_default_str();
  const CLI::App* fields =
      app.add_subcommand("fields",
                         "Prints every field of a v1 file and of the plugins' arguments in four columns "
                         "separated by tabs: owner, path, type, default");
  // Flags are accepted before and after the subcommand. A flag defined only for `app` would swallow the
  // files.
  for (CLI::App* each : {&app, check, convert}) AddSharedFlags(*each, options);
  if (const auto code = ParseFlags(app, args)) return *code;
  std::vector<std::string> notes;
  const auto all = process::WithLoadedPlugins(plugins, options.plugins, notes);
  if (!all) {
    fmt::print(stderr, "Error: {}\n", all.error().message);
    return 1;
  }
  for (const std::string& note : notes) fmt::print(stderr, "Note: {}\n", note);
  if (fields->parsed()) return PrintFields(*all);
  return check->parsed() ? Check(options, *all) : Convert(options, *all);
}

}  // namespace berth::command
