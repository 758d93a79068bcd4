// Workloads whose pods are evicted by preemption again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/text_map.hpp"
#include "kubernetes/api/pod.hpp"

namespace berth::plugins {

// A loop is this number of evictions of a workload within a window that ends now.
struct LoopLimit {
  std::size_t evictions = 0;  // at least 2
  std::int64_t window = 0;    // seconds; at least 1
  std::int64_t pause = 0;     // seconds; at least 1
};

// The workload of a pod is its controller, or for a pod without one its namespace and name.
//
// Of a workload, an eviction counts if its pod has started since the last one that counted: then it replaces
// an evicted pod. The other replicas of a workload, which one preemption after the other evicts, are no loop.
// The eviction that completes a loop pauses the workload; evictions during the pause do not count, and
// counting begins anew after it.
//
// At most kMostWorkloads are remembered: of more, the one that is not paused and was evicted first is
// forgotten. All times are Unix seconds. Scheduler loop only.
class PreemptionLoops {
 public:
  static constexpr std::size_t kMostWorkloads = 1000;
  static constexpr std::size_t kMostEvictors = 4;  // of a loop; later ones are not remembered

  // By which pods a workload was evicted.
  struct Evictor {
    std::string key;        // of the workload; empty: unknown, because another scheduler evicted
    std::string text;       // "Job namespace/name"; empty if unknown
    std::string scheduler;  // schedulerName of the preemptor
    friend bool operator==(const Evictor&, const Evictor&) = default;
    static void VisitFields(auto& self, auto&& visit) {
      visit("key", self.key);
      visit("text", self.text);
      visit("scheduler", self.scheduler);
    }
  };
  struct Loop {
    std::string workload;  // "Job namespace/name"
    std::vector<Evictor> by;
    std::int64_t paused_until = 0;
  };
  static Evictor EvictorOf(const api::Pod& preemptor);

  // Returns the loop that this eviction completes. No effect if the pod's eviction is known. Times in the
  // future count as `now`.
  std::optional<Loop> Add(const api::Pod& victim, Evictor by, std::int64_t at, const LoopLimit& limit,
                          std::int64_t now);
  // Until when no pod of this pod's workload is evicted; nullopt: it is not paused.
  std::optional<std::int64_t> PausedUntil(const api::Pod& pod, std::int64_t now);
  // Until when the preemptor must not evict the victim, whose workload evicted the preemptor's in a loop. Of
  // an unknown evictor all pods of its scheduler count. nullopt: it may.
  std::optional<std::int64_t> PausedBetween(const api::Pod& preemptor, const api::Pod& victim,
                                            std::int64_t now);
  // The number of paused workloads.
  std::size_t Paused(std::int64_t now) const;
  // The number of remembered workloads, including some whose last eviction is longer ago than the window.
  std::size_t workloads() const { return workloads_.size(); }

  // The content as a value, for recordings.
  struct Saved {
    struct OfWorkload {
      std::string key;
      std::vector<std::pair<std::int64_t, std::string>> evictions;  // times with UIDs
      std::vector<Evictor> by;
      std::optional<std::int64_t> paused_until;
      static void VisitFields(auto& self, auto&& visit) {
        visit("key", self.key);
        visit("evictions", self.evictions);
        visit("by", self.by);
        visit("pausedUntil", self.paused_until);
      }
    };
    std::vector<OfWorkload> workloads;
    std::optional<std::int64_t> last_pause_end;
    static void VisitFields(auto& self, auto&& visit) {
      visit("workloads", self.workloads);
      visit("lastPauseEnd", self.last_pause_end);
    }
  };
  Saved Save() const;
  Expected<void> Restore(const Saved& saved);

 private:
  struct Eviction {
    std::int64_t at = 0;
    std::string uid;
  };
  struct Workload {
    std::vector<Eviction> evictions;  // those that count, the earliest first
    std::vector<Evictor> by;
    std::int64_t paused_until = INT64_MIN;
  };
  // Valid until the next call.
  std::string_view KeyOf(const api::Pod& pod);
  const Workload* FindPaused(const api::Pod& pod, std::int64_t now);
  void MakeRoom(const LoopLimit& limit, std::int64_t now);

  TextMap<Workload> workloads_;
  std::int64_t last_pause_end_ = INT64_MIN;  // no workload is paused from then on
  std::string key_;                          // reused
};

}  // namespace berth::plugins
