// How a plugin is built for a profile.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "config/value.hpp"
#include "framework/plugin.hpp"

namespace berth::framework {

// The arguments of a profile's pluginConfig as they stand in the file.
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

}  // namespace berth::framework
