// The queue's nominated pods in the form that decisions read.
#pragma once

#include <span>
#include <vector>

#include "scheduler/cluster/node_table.hpp"
#include "scheduler/queue/nominator.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::cycle {

// Reuses its buffer. Scheduler loop only.
class CurrentNominations {
 public:
  // Valid until a nomination changes or the next call.
  std::span<const runtime::Nomination> Of(const queue::Nominator& nominator,
                                          const cluster::NodeTable& nodes) {
    nominations_.clear();
    for (const auto& [uid, nomination] : nominator.all())
      nominations_.push_back({nodes.Find(nomination.node), &nomination.pod->info});
    return nominations_;
  }

 private:
  std::vector<runtime::Nomination> nominations_;
};

}  // namespace berth::cycle
