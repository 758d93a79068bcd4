// What pods of a priority class tolerate: the policies of scheduler-plugins v0.33.5
// (pkg/preemptiontoleration/preemption_toleration_policy.go).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/text_map.hpp"
#include "scheduler/cluster/cluster_objects.hpp"
#include "scheduler/framework/status.hpp"

namespace berth::plugins {

// A pod of the class is not evicted for a lower priority than `minimum` until `seconds` after it was
// scheduled; if they are negative, never.
struct Toleration {
  std::int64_t minimum = 0;
  std::int64_t seconds = 0;

  bool unlimited() const { return seconds < 0 || seconds >= kUnlimited; }
  // A WallTime ends in the year 2262.
  static constexpr std::int64_t kUnlimited = std::int64_t{200} * 366 * 24 * 3600;
};

// From the annotations of the class. Without them its pods tolerate nothing: the minimum is the next higher
// priority, and the time 0. An error has the annotation and Go's text.
Expected<Toleration> ReadToleration(const api::PriorityClass& object);

// The tolerations of all priority classes, as last received. Annotations that cannot be read are logged when
// the class changes; its pods tolerate nothing. Scheduler loop only.
class Tolerations {
 public:
  // `objects` must outlive this object. `changed` is called after every change.
  Tolerations(cluster::ClusterObjects& objects, std::function<void()> changed);
  Tolerations(const Tolerations&) = delete;
  Tolerations& operator=(const Tolerations&) = delete;

  struct Entry {
    Toleration toleration;
    framework::Status refusal;  // of an eviction; the same text for all pods of the class
  };
  // Null: there is no such class.
  const Entry* Find(std::string_view priority_class) const;

 private:
  void Put(const api::PriorityClass& object);

  TextMap<Entry> by_class_;
  const std::function<void()> changed_;
  const std::shared_ptr<const char> listening_ = std::make_shared<const char>();
};

}  // namespace berth::plugins
