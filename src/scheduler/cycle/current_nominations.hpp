// The queue's nominated pods in the form that decisions read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/text_map.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/queue/scheduling_queue.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::cycle {

// Reuses its buffers and the identities of pods. Scheduler loop only; the arguments must outlive this object.
class CurrentNominations {
 public:
  CurrentNominations(const queue::SchedulingQueue& queue, cluster::SymbolTable& symbols)
      : queue_(queue), symbols_(symbols) {}

  // Valid until a nomination changes or the next call. As in kube-scheduler, only the identity is known of a
  // pod that is not queued, such as another member of the group that is being scheduled: it has no requests
  // and no labels, and its priority is 0.
  std::span<const runtime::Nomination> Of(const cluster::NodeTable& nodes) {
    nominations_.clear();
    ++calls_;
    std::size_t unknown = 0;
    for (const auto& [uid, nomination] : queue_.nominator().all()) {
      const cluster::PodInfo* pod = &nomination.pod->info;
      if (!queue_.Contains(uid)) {
        pod = &Identity(uid, *pod->pod);
        ++unknown;
      }
      nominations_.push_back({nodes.Find(nomination.node), pod});
    }
    if (unknown_.size() > 2 * unknown)
      erase_if(unknown_, [&](const auto& entry) { return entry.second.last_call != calls_; });
    return nominations_;
  }

 private:
  struct Unknown {
    cluster::PodInfo identity;
    std::uint64_t last_call = 0;  // that used it
  };
  // Each member of a group that is scheduled sees the nominations of all others: their identities are made
  // once, not for each member. A UID stands for one pod.
  const cluster::PodInfo& Identity(const std::string& uid, const api::Pod& pod) {
    auto known = unknown_.find(uid);
    if (known == unknown_.end()) known = unknown_.emplace(uid, Unknown{IdentityOf(pod)}).first;
    known->second.last_call = calls_;
    return known->second.identity;
  }
  cluster::PodInfo IdentityOf(const api::Pod& pod) const {
    auto identity = std::make_shared<api::Pod>();
    identity->metadata.ns = pod.metadata.ns;
    identity->metadata.name = pod.metadata.name;
    identity->metadata.uid = pod.metadata.uid;
    return cluster::PreparePod(std::move(identity), symbols_);
  }

  const queue::SchedulingQueue& queue_;
  cluster::SymbolTable& symbols_;
  std::vector<runtime::Nomination> nominations_;
  std::uint64_t calls_ = 0;
  TextMap<Unknown> unknown_;  // by UID: at most twice as many as the last call returned
};

}  // namespace berth::cycle
