// Reads the state of a running scheduler, for requests from other threads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/cluster/cluster_state.hpp"
#include "scheduler/cycle/cluster_loop.hpp"
#include "scheduler/cycle/longest_step.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/introspection/node_reports.hpp"
#include "scheduler/introspection/reports.hpp"
#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::introspection {

// The loop's part of a request is divided into steps, and the loop decides between them: a step reads at most
// 5,000 records, 500 pods of the queue or 200 nodes, searches 50 records for rejections or 1,000 for
// preemptions, or copies at most ten records. What changes between two steps may be missing in a report or
// may be reported as it was. The longest step of each request is a metric (LongestStep).
//
// All methods may be called on any thread. `take` is called on the loop's thread and must not block; if the
// loop ends first, it is destroyed without a call.
class Inspector {
 public:
  struct Parts {
    cycle::ClusterLoop& loop;
    const cycle::Scheduler& scheduler;
    const cluster::ClusterState& cluster;
    const load_metrics::SignalTable& signals;
    const runtime::ProfileList& profiles;
    const framework::Reasons& reasons;
    const Clock& clock;
    metrics::Registry& metrics;
    Duration max_in_unschedulable;  // of the queue
  };
  // Everything in `parts` must outlive the loop's last iteration; the inspector itself need not.
  explicit Inspector(const Parts& parts) : parts_(parts) {}

  // `key` is "namespace/name". At most `attempts` attempts. nullopt: the pod is not pending here, and no
  // record of it is left.
  using TakePod = std::move_only_function<void(std::optional<PodReport>)>;
  void ReportPod(std::string key, std::size_t attempts, TakePod take) const;
  // All pods in the queue, in no defined order. A pod that leaves the queue meanwhile may count in the
  // shortfall.
  using TakeQueue = std::move_only_function<void(QueueReport)>;
  void ReportQueue(TakeQueue take) const;
  using TakeStatus = std::move_only_function<void(StatusReport)>;
  void ReportStatus(TakeStatus take) const;
  // nullopt: there is no node of this name.
  using TakeNode = std::move_only_function<void(std::optional<NodeReport>)>;
  void ReportNode(std::string name, TakeNode take) const;
  // All nodes, in no defined order.
  using TakeNodes = std::move_only_function<void(NodesReport)>;
  void ReportNodes(TakeNodes take) const;
  // The preemptions in the newest records.
  using TakePreemptions = std::move_only_function<void(PreemptionsReport)>;
  void ReportPreemptions(TakePreemptions take) const;
  using TakePlugins = std::move_only_function<void(PluginsReport)>;
  void ReportPlugins(TakePlugins take) const;

 private:
  const Parts parts_;
};

}  // namespace berth::introspection
