// A configuration file after parsing and before defaults: the data passed between the stages from text to
// SchedulerConfig. Private to the module.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/scheduler_config.hpp"

namespace berth::config {

struct PluginConfigEntry {
  std::string name;
  std::optional<Value> args;
  std::string path;  // "profiles[0].pluginConfig[1]" in the file
};

struct ProfileDocument {
  std::optional<std::string> scheduler_name;
  std::optional<std::int64_t> percentage_of_nodes_to_score;
  std::array<PluginSet, kPointCount> plugins;
  PluginSet unreserve;  // a separate extension point until 1.18
  std::vector<PluginConfigEntry> plugin_config;
  std::string path;  // "profiles[0]"; empty where the file is the profile

  PluginSet& at(Point point) { return plugins[static_cast<std::size_t>(point)]; }
  const PluginSet& at(Point point) const { return plugins[static_cast<std::size_t>(point)]; }
  PluginConfigEntry* FindConfig(std::string_view plugin);
  // The arguments of a plugin as a map; created if there are none.
  Value& ArgsOf(const std::string& plugin);
  // The path of a plugin set, for error texts.
  std::string PathOf(Point point) const;
};

struct Document {
  SchedulerConfig config;  // without profiles
  std::vector<ProfileDocument> profiles;
  std::vector<std::string> errors;  // conversion errors: settings without a successor
  // Only in old versions.
  bool disable_preemption = false;
  std::optional<std::int64_t> bind_timeout_seconds;
  std::optional<std::int64_t> hard_pod_affinity_weight;

  void Note(std::string text) { config.notes.push_back(std::move(text)); }
};

// Validation errors; hints follow after all of them.
struct Findings {
  std::vector<std::string> errors;
  std::vector<std::string> hints;
  // Empty if there are none.
  std::string Text() const;
};

// --- the stages ---
// defaults.cpp
void ApplyDefaults(Document& document, const ArgsCodecs* codecs);
PluginSet DefaultMultiPoint(const FeatureGates& gates);
// Merges custom plugins into the defaults: default plugins keep their position, a plugin that is named again
// takes the new weight at its default position, the others follow in the given order.
PluginSet MergePluginSets(const PluginSet& defaults, const PluginSet& custom);

// plugin_config.cpp: completes the plugin arguments. `api_version`: of the file.
Expected<void> CompleteArgs(Document& document, const std::string& api_version, const ArgsCodecs* codecs,
                            Problems& problems);

// validation.cpp: validates a document with defaults.
Findings Validate(const Document& document, const ArgsCodecs* codecs);

}  // namespace berth::config
