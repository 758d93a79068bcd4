// Plugins of others that are compiled into kube-schedulers out there, and what comes nearest to them here.
#pragma once

#include <string_view>

namespace berth::migrate {

struct ForeignPlugin {
  std::string_view name;
  std::string_view home;    // the project it is from
  std::string_view remedy;  // what to do without it
};

// Null if it is not known.
const ForeignPlugin* FindForeignPlugin(std::string_view name);

}  // namespace berth::migrate
