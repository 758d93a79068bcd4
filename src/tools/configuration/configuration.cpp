#include "tools/configuration/configuration.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <set>

#include "base/files.hpp"
#include "config/field_list.hpp"
#include "config/write_config.hpp"
#include "process/load_config.hpp"
#include "process/loaded_plugins.hpp"

namespace berth::configuration {
namespace {

// The built-in plugins and those of the options; prints notes about them.
Expected<runtime::Registry> AllPlugins(const ReadOptions& options, const runtime::Registry& built_in) {
  std::vector<std::string> notes;
  BERTH_TRY(runtime::Registry all, process::WithLoadedPlugins(built_in, options.plugins, notes));
  for (const std::string& note : notes) fmt::print(stderr, "Note: {}\n", note);
  return all;
}

struct Loaded {
  config::SchedulerConfig config;
  std::vector<std::string> notes;
};

// Reads the file and builds its plugins, like the scheduler.
Expected<Loaded> Load(const std::string& path, const ReadOptions& options, const runtime::Registry& plugins) {
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

}  // namespace

Expected<int> RunCheck(const CheckOptions& options, const runtime::Registry& built_in) {
  BERTH_TRY(const runtime::Registry plugins, AllPlugins(options.read, built_in));
  int code = 0;
  for (const std::string& path : options.files) {
    const auto loaded = Load(path, options.read, plugins);
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

Expected<int> RunConvert(const ConvertOptions& options, const runtime::Registry& built_in) {
  BERTH_TRY(const runtime::Registry plugins, AllPlugins(options.read, built_in));
  BERTH_TRY(const Loaded loaded, Load(options.file, options.read, plugins));
  const std::string text = config::WriteConfigYaml(loaded.config, plugins.codecs());
  if (options.output == "-") {
    fmt::print("{}", text);
  } else {
    BERTH_RETURN_IF_ERROR(WriteOutputFile(options.output, text));
  }
  fmt::print(stderr, "Converted {} from {} to kubescheduler.config.k8s.io/v1.\n", options.file,
             loaded.config.version);
  for (const std::string& note : loaded.notes) fmt::print(stderr, "  {}\n", note);
  if (const std::string note = config::NoteOnWrittenLimits(loaded.config); !note.empty())
    fmt::print(stderr, "  {}\n", note);
  return 0;
}

Expected<int> RunFields(const ReadOptions& options, const runtime::Registry& built_in) {
  BERTH_TRY(const runtime::Registry plugins, AllPlugins(options, built_in));
  const auto print = [](std::string_view owner, const std::vector<config::FieldFact>& fields) {
    for (const config::FieldFact& field : fields)
      fmt::print("{}\t{}\t{}\t{}\n", owner, field.path, field.type, field.default_json);
  };
  print("KubeSchedulerConfiguration", config::FieldsOfConfiguration());
  for (const auto& [plugin, codec] : plugins.codecs()) print(plugin, config::FieldsOf(codec));
  return 0;
}

}  // namespace berth::configuration
