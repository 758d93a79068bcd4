#include "scheduler/plugin_host/library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "scheduler/plugin_host/events.hpp"

namespace berth::plugin_host {
namespace {

constexpr std::uint32_t kMaxPlugins = 64;
constexpr std::size_t kMaxEvents = 64;
constexpr std::size_t kMaxAnnotations = 64;
// Tables of version 1.0 end with these members.
constexpr std::size_t kFirstLibrary = offsetof(berth_library, plugins) + sizeof(berth_library::plugins);
constexpr std::size_t kFirstPlugin = offsetof(berth_plugin, post_bind) + sizeof(berth_plugin::post_bind);

// Names that profiles can contain: the characters of Kubernetes names, and upper case.
bool IsName(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  };
  return !name.empty() && name.size() <= 253 && std::ranges::all_of(name, allowed);
}

std::string CheckEvents(const berth_plugin& plugin) {
  if (plugin.events == nullptr)
    return plugin.event_count == 0 ? "" : "events: is NULL, but event_count is not 0";
  if (plugin.event_count > kMaxEvents)
    return fmt::format("event_count: {} exceeds the limit of {}", plugin.event_count, kMaxEvents);
  for (std::size_t i = 0; i < plugin.event_count; ++i) {
    const berth_event& event = plugin.events[i];
    if (!ResourceOf(event.resource))
      return fmt::format("events[{}].resource: {} is not a BERTH_ON_... constant", i, event.resource);
    if (event.actions == 0 || (event.actions & ~BERTH_ALL_ACTIONS) != 0)
      return fmt::format("events[{}].actions: {:#x} has no bit of BERTH_ALL_ACTIONS, or others", i,
                         event.actions);
  }
  return "";
}

std::string CheckAnnotations(const berth_plugin& plugin) {
  if (plugin.annotation_count == 0) return "";
  if (plugin.annotations == nullptr) return "annotations: is NULL, but annotation_count is not 0";
  if (plugin.annotation_count > kMaxAnnotations)
    return fmt::format("annotation_count: {} exceeds the limit of {}", plugin.annotation_count,
                       kMaxAnnotations);
  for (std::size_t i = 0; i < plugin.annotation_count; ++i) {
    if (plugin.annotations[i] == nullptr) return fmt::format("annotations[{}]: is NULL", i);
  }
  return "";
}

// Checks for required and mutually exclusive functions.
std::string CheckFunctions(const berth_plugin& p) {
  if (p.create == nullptr) return "create: is NULL";
  if (p.destroy == nullptr) return "destroy: is NULL";
  if (p.filter != nullptr && p.filter_node != nullptr) return "filter and filter_node: only one may be given";
  if (p.score != nullptr && p.score_node != nullptr) return "score and score_node: only one may be given";
  if (p.normalize != nullptr && p.normalize_node != nullptr)
    return "normalize and normalize_node: only one may be given";
  const bool scores = p.score != nullptr || p.score_node != nullptr;
  if (!scores && (p.normalize != nullptr || p.normalize_node != nullptr || p.pre_score != nullptr))
    return "pre_score, normalize and normalize_node: need score or score_node";
  if ((p.reserve == nullptr) != (p.unreserve == nullptr)) return "reserve and unreserve: one is NULL";
  if (p.pre_bind == nullptr && p.pre_bind_pre_flight != nullptr) return "pre_bind_pre_flight: needs pre_bind";
  if (p.pre_filter == nullptr && p.filter == nullptr && p.filter_node == nullptr && !scores &&
      p.reserve == nullptr && p.permit == nullptr && p.pre_bind == nullptr && p.post_bind == nullptr)
    return "the plugin implements no extension point";
  return "";
}

std::string Check(const berth_plugin& plugin) {
  if (plugin.flags & ~BERTH_FLAG_PARALLEL_PRE_BIND)
    return fmt::format("flags: {:#x} has unknown bits; expected BERTH_FLAG_...", plugin.flags);
  if (std::string wrong = CheckEvents(plugin); !wrong.empty()) return wrong;
  if (std::string wrong = CheckAnnotations(plugin); !wrong.empty()) return wrong;
  return CheckFunctions(plugin);
}

Expected<berth_plugin> Read(const berth_plugin* table, std::size_t index) {
  if (table == nullptr) return Invalid(fmt::format("plugins[{}]: is NULL", index));
  if (table->size < kFirstPlugin || table->size > (1u << 16))
    return Invalid(
        fmt::format("plugins[{}].size: {} is not the size of a berth_plugin, which has at least {}", index,
                    table->size, kFirstPlugin));
  berth_plugin plugin{};
  std::memcpy(&plugin, table, std::min<std::size_t>(table->size, sizeof plugin));
  if (plugin.name == nullptr) return Invalid(fmt::format("plugins[{}].name: is NULL", index));
  if (!IsName(plugin.name))
    return Invalid(
        fmt::format("plugins[{}].name: \"{}\" is not a valid name: letters, digits, '-', '_', '.', '/'",
                    index, std::string_view(plugin.name).substr(0, 64)));
  if (std::string wrong = Check(plugin); !wrong.empty())
    return Invalid(fmt::format("plugin \"{}\": {}", plugin.name, wrong));
  return plugin;
}

}  // namespace

Expected<void> CheckVersion(std::uint32_t version) {
  if (version >> 16 == BERTH_PLUGIN_MAJOR) return {};
  return Invalid(
      fmt::format("is built for version {}.{} of berth_plugin.h, this Berth has {}.{}: rebuild the plugin",
                  version >> 16, version & 0xFFFF, BERTH_PLUGIN_MAJOR, BERTH_PLUGIN_MINOR));
}

Expected<std::vector<berth_plugin>> ReadLibrary(const berth_library* library) {
  if (library == nullptr) return Invalid("berth_plugin_describe returned NULL");
  if (library->size < kFirstLibrary)
    return Invalid(fmt::format("size: {} is not the size of a berth_library, which has at least {}",
                               library->size, kFirstLibrary));
  if (library->plugin_count == 0 || library->plugins == nullptr)
    return Invalid("the library describes no plugin");
  if (library->plugin_count > kMaxPlugins)
    return Invalid(
        fmt::format("plugin_count: {} exceeds the limit of {}", library->plugin_count, kMaxPlugins));
  std::vector<berth_plugin> plugins;
  for (std::uint32_t i = 0; i < library->plugin_count; ++i) {
    BERTH_TRY(const berth_plugin plugin, Read(library->plugins[i], i));
    for (const berth_plugin& earlier : plugins) {
      if (std::string_view(earlier.name) == plugin.name)
        return Invalid(fmt::format("plugin \"{}\" is described twice", plugin.name));
    }
    plugins.push_back(plugin);
  }
  return plugins;
}

}  // namespace berth::plugin_host
