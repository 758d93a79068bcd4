// The queue's nominated pods in the form that decisions read.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/queue/scheduling_queue.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::cycle {

// Reuses its buffers. Scheduler loop only; the arguments must outlive this object.
class CurrentNominations {
 public:
  CurrentNominations(const queue::SchedulingQueue& queue, cluster::SymbolTable& symbols)
      : queue_(queue), symbols_(symbols) {}

  // Valid until a nomination changes or the next call. As in kube-scheduler, only the identity is known of a
  // pod that is not queued, such as another member of the group that is being scheduled: it has no requests
  // and no labels, and its priority is 0.
  std::span<const runtime::Nomination> Of(const cluster::NodeTable& nodes) {
    nominations_.clear();
    unknown_.clear();
    for (const auto& [uid, nomination] : queue_.nominator().all()) {
      const cluster::PodInfo* pod = &nomination.pod->info;
      if (!queue_.Contains(uid)) pod = &unknown_.emplace_back(IdentityOf(*pod->pod));
      nominations_.push_back({nodes.Find(nomination.node), pod});
    }
    return nominations_;
  }

 private:
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
  std::deque<cluster::PodInfo> unknown_;
};

}  // namespace berth::cycle
