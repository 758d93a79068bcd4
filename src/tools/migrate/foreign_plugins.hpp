// Plugins of other projects that kube-schedulers may contain, and their closest replacements in Berth.
#pragma once

#include <string_view>

namespace berth::migrate {

struct ForeignPlugin {
  std::string_view name;
  std::string_view home;    // the project that it belongs to
  std::string_view remedy;  // the replacement
};

// Null if it is unknown.
const ForeignPlugin* FindForeignPlugin(std::string_view name);

}  // namespace berth::migrate
