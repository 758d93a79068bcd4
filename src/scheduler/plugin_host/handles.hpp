// What stands behind the handles of berth_plugin.h. They live on the stack of the call they are lent for,
// except berth_scheduler, which is a part of its plugin. Private to this module.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "kubernetes/api/objects.hpp"
#include "config/value.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugin_host/berth_plugin.h"

namespace berth::plugin_host {

// What the plugin keeps of an attempt. Copies of the attempt's memory share it.
using Memory = std::shared_ptr<void>;

}  // namespace berth::plugin_host

struct berth_scheduler {
  berth_scheduler(std::string name, berth::framework::Handle& handle)
      : name(std::move(name)), handle(handle), memory(handle.NewKey<berth::plugin_host::Memory>()) {}

  const std::string name;  // of the plugin
  berth::framework::Handle& handle;
  const berth::framework::StateKey<berth::plugin_host::Memory> memory;
  // The reasons of its filter in column form, found again without a look at those of all plugins.
  std::map<std::string, berth::framework::ReasonId, std::less<>> reasons;
  std::vector<std::uint32_t> signals;  // those it declared

  std::mutex mutex;                 // guards what follows
  berth::framework::Poster poster;  // from its first permit on
};

namespace berth::plugin_host {

// The arguments while create takes them.
struct ArgumentReader {
  ArgumentReader(const config::Value& value, const std::string& plugin)
      : fields(value, plugin + "Args", "", problems) {}
  config::Problems problems;
  config::StructReader fields;
  bool used = false;
  std::deque<std::string> texts;  // lent
};

}  // namespace berth::plugin_host

struct berth_reply {
  std::vector<std::string> texts;
  std::optional<std::vector<std::string>> only;            // nodes
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
  std::string wrong;  // the first thing the plugin did wrong
};

namespace berth::plugin_host {

// The table of functions that plugins are given.
const berth_host& Host();

inline const berth_pod* HandleOf(const api::Pod& pod) { return reinterpret_cast<const berth_pod*>(&pod); }

}  // namespace berth::plugin_host
