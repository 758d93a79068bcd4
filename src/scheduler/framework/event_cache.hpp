// Values that hints compute from the objects of an event alone.
#pragma once

#include <algorithm>
#include <memory>
#include <typeindex>
#include <utility>
#include <vector>

#include "scheduler/framework/cluster_event.hpp"

namespace berth::framework {

// One event is evaluated for thousands of waiting pods. Values that depend on its objects only are kept here,
// by their type: all hints compute a type in the same way. Values may refer to the objects of the event.
// Scheduler loop only.
class EventCache {
 public:
  // The value of this type; the result of compute() in the first call.
  template <class T, class Compute>
  std::shared_ptr<const T> Get(Compute&& compute) {
    const std::type_index type = typeid(T);
    const auto known = std::ranges::find(values_, type, &Value::first);
    if (known != values_.end()) return std::static_pointer_cast<const T>(known->second);
    auto value = std::make_shared<const T>(std::forward<Compute>(compute)());
    values_.emplace_back(type, value);
    return value;
  }

 private:
  using Value = std::pair<std::type_index, std::shared_ptr<const void>>;
  std::vector<Value> values_;
};

// The value of this type that belongs to the event. Without a cache it is computed by each call.
template <class T, class Compute>
std::shared_ptr<const T> ComputeOnce(const EventObjects& objects, Compute&& compute) {
  if (objects.cache != nullptr) return objects.cache->Get<T>(std::forward<Compute>(compute));
  return std::make_shared<const T>(std::forward<Compute>(compute)());
}

// The same objects with an empty cache.
inline EventObjects WithCache(const EventObjects& objects) {
  return {objects.before, objects.after, std::make_shared<EventCache>()};
}

}  // namespace berth::framework
