// How a plugin is built for a profile.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kubernetes/api/selectors.hpp"
#include "base/result.hpp"
#include "config/args_codec.hpp"
#include "config/value.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::framework {

// The arguments of a profile's pluginConfig: complete if the plugin has a codec (config/args_codec.hpp), else
// as they stand in the file.
struct RawArgs {
  const config::Value* value = nullptr;  // null: none given
  std::string path;                      // "profiles[0].pluginConfig[1].args", for errors
};

using Made = Expected<std::unique_ptr<Plugin>>;

using Factory = std::function<Made(const RawArgs&, Handle&)>;

// For plugins without arguments.
template <class T>
Made Make(const RawArgs&, Handle& handle) {
  return std::make_unique<T>(handle);
}

// Typed arguments, read strictly, defaulted and validated with the functions of their codec. Errors are
// kube-scheduler's texts.
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

// For the kinds that Kubernetes gives every object.
inline void TakeTypeMeta(config::StructReader& reader) {
  reader.Take("kind");
  reader.Take("apiVersion");
}

}  // namespace berth::framework
