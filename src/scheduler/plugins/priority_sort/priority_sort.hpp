// Orders activeQ by descending priority, then by the time in the queue.
#pragma once

#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/framework/queued_pod.hpp"

namespace berth::plugins {

class PrioritySort final : public framework::QueueSortPlugin {
 public:
  explicit PrioritySort(framework::Handle&) {}
  std::string_view Name() const override { return "PrioritySort"; }
  bool StateIsDerived() const override { return true; }
  bool Less(const framework::QueuedEntity& a, const framework::QueuedEntity& b) const override {
    return Before(a, b);
  }
  // The order itself, for plugins that refine it.
  static bool Before(const framework::QueuedEntity& a, const framework::QueuedEntity& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    return a.timestamp < b.timestamp;
  }
};

}  // namespace berth::plugins
