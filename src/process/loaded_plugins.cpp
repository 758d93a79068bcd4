#include "process/loaded_plugins.hpp"

#include <fmt/format.h>

#include "observability/log/log.hpp"
#include "process/signals.hpp"
#include "scheduler/plugin_host/plugin_loader.hpp"

namespace berth::process {
namespace {

Expected<void> Add(const plugin_host::LoadedLibrary& library, runtime::Registry& plugins) {
  for (const plugin_host::LoadedPlugin& plugin : library.plugins) {
    if (plugins.Find(plugin.name) != nullptr) {
      return Fail(
          ErrorCode::kAlreadyExists,
          fmt::format(
              "--berth-plugin {}: plugin \"{}\" already exists: rename the plugin in the shared object",
              library.path, plugin.name));
    }
    plugins.AddForeign(plugin.name, plugin.factory, plugin.annotations);
    if (const auto log = log::V(1))
      log.Info("Loaded plugin",
               {{"plugin", plugin.name}, {"version", plugin.version}, {"file", library.path}});
  }
  return {};
}

}  // namespace

Expected<runtime::Registry> WithLoadedPlugins(const runtime::Registry& plugins,
                                              const std::vector<std::string>& libraries,
                                              std::vector<std::string>& notes) {
  runtime::Registry all = plugins;
  // A library of Go has threads from now on. A signal that one of them received would end the process at
  // once.
  const SignalsBlocked blocked;
  for (const std::string& path : libraries) {
    BERTH_TRY(const plugin_host::LoadedLibrary library, plugin_host::Load(path));
    BERTH_RETURN_IF_ERROR(Add(library, all));
    notes.insert(notes.end(), library.notes.begin(), library.notes.end());
  }
  return all;
}

void AddPluginFlag(command_line::FlagSet& flags, std::vector<std::string>& libraries) {
  flags.List("berth-plugin", "FILE", libraries,
             "shared object with plugins, same as that flag of berth scheduler; may be repeated");
}

}  // namespace berth::process
