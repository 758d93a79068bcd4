// The objects behind the handles of berth_plugin.h. They live on the stack during the call that receives
// them, except berth_scheduler, which is a member of its plugin. Private to this module.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "config/value.hpp"
#include "kubernetes/api/objects.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugin_host/berth_plugin.h"

namespace berth::plugin_host {

// The plugin's data for an attempt. Copies of the cycle state share it.
using PluginData = std::shared_ptr<void>;

}  // namespace berth::plugin_host

struct berth_scheduler {
  berth_scheduler(std::string name, berth::framework::Handle& handle)
      : name(std::move(name)),
        handle(handle),
        poster(handle.loop.poster()),
        data(handle.NewKey<berth::plugin_host::PluginData>()) {}

  const std::string name;  // of the plugin
  berth::framework::Handle& handle;
  const berth::framework::Poster poster;
  const berth::framework::StateKey<berth::plugin_host::PluginData> data;
  // The reasons of its column filter, so that a lookup does not search the reasons of all plugins.
  std::map<std::string, berth::framework::ReasonId, std::less<>> reasons;
  std::vector<std::uint32_t> signals;  // declared signals
};

namespace berth::plugin_host {

// Reads the arguments during create.
struct ArgumentReader {
  ArgumentReader(const config::Value& value, const std::string& plugin)
      : fields(value, plugin + "Args", "", problems) {}
  config::Problems problems;
  config::StructReader fields;
  bool used = false;
  std::deque<std::string> texts;  // strings lent to the plugin
};

}  // namespace berth::plugin_host

struct berth_reply {
  std::vector<std::string> texts;
  std::optional<std::vector<std::string>> only;             // names of nodes
  berth::plugin_host::ArgumentReader* arguments = nullptr;  // in create
};

struct berth_attempt {
  const berth::framework::Attempt& attempt;
  berth_scheduler& scheduler;
};

struct berth_placement {
  const berth::framework::Placement& placement;
  const berth_scheduler& scheduler;
  const std::stop_token* stop = nullptr;  // null: not in PreBind
};

struct berth_rejections {
  berth::framework::Rejections& out;
  berth_scheduler& scheduler;
  std::size_t rows;
  std::string wrong;  // the plugin's first invalid call
};

namespace berth::plugin_host {

// The function table that plugins receive.
const berth_host& Host();

inline const berth_pod* HandleOf(const api::Pod& pod) { return reinterpret_cast<const berth_pod*>(&pod); }

}  // namespace berth::plugin_host
