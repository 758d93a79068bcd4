#include "scheduler/plugin_host/shared_object.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "scheduler/plugin_host/library.hpp"

namespace berth::plugin_host {
namespace {

template <class Function>
Expected<Function*> Symbol(void* library, const char* name) {
  if (void* address = ::dlsym(library, name)) return reinterpret_cast<Function*>(address);
  return Invalid(fmt::format("does not export {}: not a Berth plugin", name));
}

}  // namespace

Expected<SharedObject> OpenSharedObject(const std::string& path, const StepCallback& on_step) {
  const auto next = [&](const char* step) {
    if (on_step) on_step(step);
  };
  next("while it was loaded");
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Invalid(fmt::format("cannot be loaded: {}", ::dlerror()));
  BERTH_TRY(const auto version, Symbol<std::uint32_t()>(library, "berth_plugin_version"));
  next("in berth_plugin_version");
  SharedObject object{.version = version(), .plugins = {}};
  BERTH_RETURN_IF_ERROR(CheckVersion(object.version));
  BERTH_TRY(const auto describe, Symbol<const berth_library*()>(library, "berth_plugin_describe"));
  next("in berth_plugin_describe");
  const berth_library* description = describe();
  next("while its description was read");
  BERTH_TRY(object.plugins, ReadLibrary(description));
  return object;
}

}  // namespace berth::plugin_host
