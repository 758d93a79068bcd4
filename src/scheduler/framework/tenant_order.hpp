// The optional interface of a QueueSort plugin that divides activeQ among tenants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.hpp"
#include "scheduler/framework/queued_pod.hpp"

namespace berth::framework {

using TenantId = std::uint32_t;

// A tenant as users see it.
struct TenantState {
  std::string name;           // the path of its names, separated by "/"
  double share = 0;           // the largest part of the cluster that it uses of any resource; 1: all of it
  std::string resource;       // that resource; empty: it uses none
  double weight = 1;          // relative to its siblings
  std::size_t waiting = 0;    // entries in activeQ
  std::size_t unsettled = 0;  // recent attempts that did not place a pod
  MonoTime since;             // it waits since then for its next attempt
};

// The queue keeps one sequence of entries per tenant, ordered by QueueSortPlugin::Less; the plugin orders the
// tenants. Without this interface, Less alone orders activeQ. Only the plugin of the first profile is used.
// Scheduler loop only.
class TenantOrder {
 public:
  virtual ~TenantOrder() = default;
  // The queue begins and ends to use the plugin. In between, and only then, the other functions are called.
  // No entry is in activeQ at either time.
  virtual void Start() = 0;
  virtual void Stop() = 0;
  // The tenant of an entry that enters activeQ. The id is valid until OnWaiting reports that no entry waits;
  // the queue calls OnWaiting before any other function.
  virtual TenantId TenantOf(const QueuedEntity& entry) = 0;
  // An entry of the tenant has entered or left activeQ: `count` entries wait, `first` is the first of them by
  // Less, null if there are none.
  virtual void OnWaiting(TenantId tenant, const QueuedEntity* first, std::size_t count, MonoTime now) = 0;
  // An attempt for the entry begins; it still is in activeQ or backoffQ.
  virtual void OnAttempt(const QueuedEntity& entry, MonoTime now) = 0;
  // Calls visit(tenant) for the tenants with waiting entries, in the order in which the queue takes their
  // first entries, until visit returns false. The first call takes at most logarithmic time, unless the nodes
  // have changed.
  using Visit = std::function<bool(TenantId)>;
  virtual void ForEachWaiting(const Visit& visit) = 0;
  // Of a tenant with waiting entries.
  virtual TenantState StateOf(TenantId tenant) const = 0;
};

}  // namespace berth::framework
