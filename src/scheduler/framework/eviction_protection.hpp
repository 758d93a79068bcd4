// Plugins that protect running pods from preemption.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kubernetes/api/pod.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/framework/status.hpp"

namespace berth::framework {

// Adds the names of plugins to this sorted list without duplicates.
void AddRejectors(std::span<const std::string_view> plugins, std::vector<std::string>& rejectors);

// The pod or pod group for which other pods would be evicted. Valid during the call.
struct Preemptor {
  std::string_view key;  // "namespace/name"
  std::int32_t priority = 0;
  const api::PodPtr& pod;  // of a group its first member
};

// All plugins of a profile that implement this interface take part in every preemption of the profile,
// whatever the extension point at which they are enabled.
//
// Results: Success, or Unschedulable with one reason, or Error, which fails the node under evaluation (of a
// pod group: the preemption). A reason completes "pods that must not be evicted (...)", without the names of
// pods and nodes, because the message counts the nodes with the same reason.
class EvictionProtectionPlugin : public virtual Plugin {
 public:
  // Whether the preemptor may evict this pod. Called for possible victims only: the priority has been
  // compared. A pod that may not be evicted stays on its node, and the members of a group that is evicted as
  // a whole stay with it.
  virtual Status MayEvict(const Preemptor& preemptor, const api::Pod& victim) = 0;
  // Whether it may evict these pods together: all victims of a candidate, or the members of a group that is
  // evicted as a whole. Called if it may evict each of them alone.
  virtual Status MayEvictTogether(const Preemptor& /*preemptor*/,
                                  std::span<const api::Pod* const> /*victims*/) {
    return {};
  }
  // The scheduler begins to evict these pods, for a preemptor of any profile. Not called by dry runs.
  virtual void OnEviction(const Preemptor& /*preemptor*/, std::span<const api::PodPtr> /*victims*/) {}
};

// The protections of a profile, for plugins that evict pods: they must leave out victims for which MayEvict
// is not Success, and candidates for which MayEvictTogether is not. Records which plugins protected pods:
// they become rejectors of the preemptor, which is retried after their events (Plugin::EventsToRegister).
// Scheduler loop only.
class EvictionProtections {
 public:
  // The plugins must outlive this object.
  explicit EvictionProtections(std::span<EvictionProtectionPlugin* const> plugins) : plugins_(plugins) {}

  bool empty() const { return plugins_.empty(); }
  // The first result other than Success.
  Status MayEvict(const Preemptor& preemptor, const api::Pod& victim);
  Status MayEvictTogether(const Preemptor& preemptor, std::span<const api::Pod* const> victims);
  // The names of the plugins that returned Unschedulable; valid as Plugin::Name().
  const std::vector<std::string_view>& rejectors() const { return rejectors_; }

 private:
  template <class Call>
  Status First(Call&& call);

  std::span<EvictionProtectionPlugin* const> plugins_;
  std::vector<std::string_view> rejectors_;
};

}  // namespace berth::framework
