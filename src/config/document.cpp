#include "config/document.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::config {

PluginConfigEntry* ProfileDocument::FindConfig(std::string_view plugin) {
  const auto found = std::ranges::find(plugin_config, plugin,
                                       [](const auto& entry) { return std::string_view(entry.name); });
  return found == plugin_config.end() ? nullptr : &*found;
}

Value& ProfileDocument::ArgsOf(const std::string& plugin) {
  PluginConfigEntry* entry = FindConfig(plugin);
  if (entry == nullptr) {
    const std::string place =
        fmt::format("{}pluginConfig[{}]", path.empty() ? "" : path + ".", plugin_config.size());
    entry = &plugin_config.emplace_back(PluginConfigEntry{plugin, std::nullopt, place});
  }
  if (!entry->args || entry->args->kind != Value::Kind::kMap) entry->args = Value::Map();
  return *entry->args;
}

std::string ProfileDocument::PathOf(Point point) const {
  return fmt::format("{}plugins.{}", path.empty() ? "" : path + ".", PointName(point));
}

bool PluginSet::Enables(std::string_view plugin) const {
  return std::ranges::find(enabled, plugin, [](const auto& ref) { return std::string_view(ref.name); }) !=
         enabled.end();
}

bool PluginSet::Disables(std::string_view plugin) const {
  return std::ranges::find(disabled, plugin) != disabled.end();
}

bool Profile::Enables(std::string_view plugin) const {
  return std::ranges::any_of(plugins, [&](const PluginSet& set) { return set.Enables(plugin); });
}

std::string_view PointName(Point point) {
  static constexpr std::array<std::string_view, kPointCount> kNames{
      "preEnqueue", "queueSort",         "preFilter",      "filter",
      "postFilter", "preScore",          "score",          "reserve",
      "permit",     "preBind",           "bind",           "postBind",
      "multiPoint", "placementGenerate", "placementScore", "podGroupPostFilter"};
  return kNames[static_cast<std::size_t>(point)];
}

}  // namespace berth::config
