// Factories that create the plugins of a profile.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/args_codec.hpp"
#include "config/value.hpp"
#include "kubernetes/api/selectors.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::framework {

// A plugin's arguments in a profile's pluginConfig. Plugins with a codec (config/args_codec.hpp) receive
// complete arguments, other plugins the arguments of the file unchanged.
struct RawArgs {
  const config::Value* value = nullptr;  // null: no arguments
  std::string path;                      // for errors: "profiles[0].pluginConfig[1].args"
  std::string scheduler_name{};          // of the profile
};

using PluginOrError = Expected<std::unique_ptr<Plugin>>;

// Creates a plugin; called once per profile. An error makes the configuration invalid.
using Factory = std::function<PluginOrError(const RawArgs&, Handle&)>;

// For plugins without arguments.
template <class T>
PluginOrError Make(const RawArgs&, Handle& handle) {
  return std::make_unique<T>(handle);
}

// Decodes typed arguments strictly, applies defaults and validates them with the functions of the plugin's
// codec. Error texts are kube-scheduler's.
template <class Args>
Expected<Args> ParseArgs(const RawArgs& raw, const config::FeatureGates& gates,
                         Args (*decode)(const config::Value&, const config::FeatureGates&, config::Problems&),
                         std::vector<std::string> (*check)(const Args&, const std::string&,
                                                           const config::FeatureGates&)) {
  config::Problems problems;
  Args args = decode(raw.value != nullptr ? *raw.value : config::Value::Map(), gates, problems);
  if (!problems.empty()) return Invalid(problems.Text());
  if (const auto errors = check(args, raw.path, gates); !errors.empty())
    return Invalid(api::JoinErrors(errors));
  return args;
}

// Accepts `kind` and `apiVersion`, which every Kubernetes object may have.
inline void AcceptTypeMeta(config::StructReader& reader) {
  reader.Take("kind");
  reader.Take("apiVersion");
}

}  // namespace berth::framework
