// What a running scheduler reports about itself: copies that may be used on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "kubernetes/api/pod.hpp"
#include "scheduler/queue/scheduling_queue.hpp"
#include "scheduler/record/detached_record.hpp"

namespace berth::introspection {

// Where a pod is.
enum class PodStage : std::uint8_t {
  kQueued,      // in the queue, see QueuedReport
  kScheduling,  // an attempt is in progress, or the pod waits for a Permit plugin
  kBinding,     // a node was selected, and the binding is not confirmed yet
  kGone,        // no longer pending: bound or deleted; only records are left
};
std::string_view NameOf(PodStage stage);  // "queued", ...

// The events that requeue a pod because of one of the plugins that rejected it.
struct WakingEvents {
  std::string plugin;
  std::vector<std::string> events;  // "Node: Add, UpdateNodeTaint"
};

// A pod's place in the queue. Of a member of a pod group, the history is that of the group.
struct QueuedReport {
  std::string place;  // "active", "backoff", "unschedulable", "gated", "incomplete" or "pending"
  WallTime since;
  std::optional<WallTime> first_ready;  // when it first entered activeQ
  std::int32_t attempts = 0;
  std::int32_t unschedulable_attempts = 0;
  std::int32_t consecutive_errors = 0;
  std::optional<WallTime> next_retry;  // the latest time of the next attempt to enter activeQ
  std::vector<std::string> rejected_by;
  std::vector<std::string> waiting_for;  // plugins that returned Pending
  std::string gated_by;                  // empty: not gated
  std::vector<WakingEvents> woken_by;
  // Entries in activeQ before it, with tenants those of its tenant; at most kMostAhead.
  std::size_t ahead = 0;
  std::optional<queue::TenantPlace> tenant;  // in activeQ, if its order has tenants
};
inline constexpr std::size_t kMostAhead = 10'000;
inline constexpr std::size_t kMostTenantsBefore = 10;  // that are listed

struct AttemptReport {
  WallTime at;
  std::unique_ptr<const record::DetachedRecord> attempt;
};

struct PodReport {
  std::string ns, name;
  std::string uid;             // empty: unknown, because only records are left
  std::string scheduler_name;  // of the profile
  std::string group;           // "namespace/name" of its pod group; empty: none
  std::int32_t priority = 0;
  std::string nominated_node;
  PodStage stage = PodStage::kGone;
  std::optional<QueuedReport> queued;   // with kQueued
  std::vector<AttemptReport> attempts;  // newest first
  std::size_t more_attempts = 0;        // records that exist and are not in `attempts`
};

// One pod of the queue.
struct QueueRow {
  api::PodPtr pod;
  const char* place = "";
  WallTime since;
  std::int32_t attempts = 0;
  std::vector<std::string> rejected_by;  // the gating plugin included
};

// A resource that waiting pods request, and what the nodes have left of it. Milli-cores, bytes, counts.
struct ResourceShortfall {
  std::string resource;
  std::size_t pods = 0;  // that request it
  std::int64_t requested = 0, largest_request = 0;
  std::int64_t free = 0, largest_free = 0;  // of all nodes that are not cordoned, and of one of them
};

struct QueueReport {
  std::vector<QueueRow> rows;
  // Resources that pods rejected by NodeResourcesFit request, if they request more than is free in total, or
  // one of them more than is free on any node. At most kMostShortResources are considered.
  std::vector<ResourceShortfall> shortfall;
};
inline constexpr std::size_t kMostShortResources = 32;

struct StatusReport {
  bool synced = false;
  queue::QueueSizes queue;
  std::size_t nodes = 0;
  std::size_t records = 0;
  std::size_t record_bytes = 0;
  std::uint64_t records_dropped = 0;
};

}  // namespace berth::introspection
