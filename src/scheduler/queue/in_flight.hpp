// Attempts in progress, and the events since the start of each attempt.
#pragma once

#include <list>
#include <string>
#include <utility>

#include "base/text_map.hpp"
#include "scheduler/framework/cluster_event.hpp"
#include "scheduler/framework/queued_pod.hpp"

namespace berth::queue {

// One list, ordered by time, of attempt starts and events. An event is kept while an attempt that started
// before it is in progress. Scheduler loop only.
class InFlight {
 public:
  // Returns false if an attempt for this UID is in progress.
  bool Begin(const framework::QueuedPodPtr& pod);
  // Ends an attempt and drops events that no other attempt needs; calls forget(label) for each dropped event.
  template <class Forget>
  void End(const std::string& uid, Forget&& forget) {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    const std::string& key = found->second->pod->info.key;
    if (const auto latest = by_key_.find(key); latest != by_key_.end() && latest->second == found->second)
      by_key_.erase(latest);
    items_.erase(found->second);
    pods_.erase(found);
    while (!items_.empty() && items_.front().pod == nullptr) {
      forget(items_.front().event.label);
      bytes_ -= items_.front().bytes;
      items_.pop_front();
    }
  }
  void Note(const framework::ClusterEvent& event, const framework::EventObjects& objects, std::size_t bytes) {
    items_.push_back({nullptr, event, objects, bytes});
    bytes_ += bytes;
  }
  // Replaces all events by `summary`, without objects: at most one between two starts of attempts. Calls
  // forget(label) for each event that is replaced. Returns how often `summary` is in the list now.
  template <class Forget>
  std::size_t Summarize(const framework::ClusterEvent& summary, Forget&& forget) {
    std::size_t summaries = 0;
    bool after_summary = false;
    for (auto item = items_.begin(); item != items_.end();) {
      if (item->pod != nullptr) {
        after_summary = false;
        ++item;
        continue;
      }
      forget(item->event.label);
      if (std::exchange(after_summary, true)) {
        item = items_.erase(item);
      } else {
        *item++ = {nullptr, summary, {}, 0};
        ++summaries;
      }
    }
    bytes_ = 0;
    return summaries;
  }
  bool Has(const std::string& uid) const { return pods_.contains(uid); }
  // The attempt for "namespace/name" that started last, if it is in progress; else null.
  api::PodPtr FindByKey(const std::string& key) const;
  bool empty() const { return pods_.empty(); }
  std::size_t size() const { return pods_.size(); }
  std::size_t events() const { return items_.size() - pods_.size(); }
  std::size_t bytes() const { return bytes_; }  // of the events, without summaries

  // Calls visit(event, objects) for the events since the attempt started, until it returns false.
  template <class Visit>
  void ForEachSince(const std::string& uid, Visit&& visit) const {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    for (auto item = std::next(found->second); item != items_.end(); ++item) {
      if (item->pod == nullptr && !visit(item->event, item->objects)) return;
    }
  }

 private:
  struct Item {
    framework::QueuedPodPtr pod;  // the start of an attempt; null: an event
    framework::ClusterEvent event;
    framework::EventObjects objects;
    std::size_t bytes = 0;
  };
  using Items = std::list<Item>;

  Items items_;
  std::size_t bytes_ = 0;
  TextMap<Items::const_iterator> pods_;  // by UID
  // the latest attempt per "namespace/name"
  TextMap<Items::const_iterator> by_key_;
};

}  // namespace berth::queue
