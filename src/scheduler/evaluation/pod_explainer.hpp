// Evaluates pods of the running scheduler anew, with advice, without delaying its decisions.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/scheduler_config.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/cycle/cluster_loop.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/explanation/explanation.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::evaluation {

// An evaluation, valid during the call that receives it.
struct Evaluated {
  const explanation::Explanation& explanation;
  const framework::Reasons& reasons;  // of the record
  WallTime cluster_as_of;             // the time of the copy of the cluster
  WallTime evaluated_at;
  const std::vector<std::string>& left_out;  // what was not considered; texts for users
};

// Keeps a copy of the cluster (ClusterCopy), which is made at the first request, brought up to date before
// each evaluation, and dropped after kIdle without a request. The loop only hands over pointers, in steps of
// bounded work (ChangeReader). One evaluation runs at a time, on a thread with lower priority than the
// others, so that it does not take a core from decisions; at most kMostWaiting wait. The copy shares the
// objects of the live cluster: it takes about as much memory as the live node table.
class PodExplainer {
 public:
  static constexpr std::size_t kMostWaiting = 8;
  static constexpr Duration kIdle = std::chrono::minutes(5);

  // Everything must outlive the explainer, and the engine everything that changes its objects.
  struct Parts {
    cycle::ClusterLoop& loop;
    const cycle::Scheduler& scheduler;
    assembly::Engine& live;
    const config::SchedulerConfig& config;
    const runtime::Registry& plugins;
    const Clock& clock;
    metrics::Registry& metrics;
  };
  explicit PodExplainer(const Parts& parts);
  // Waits for the evaluation in progress. Not while the loop runs on another thread.
  ~PodExplainer();
  PodExplainer(const PodExplainer&) = delete;
  PodExplainer& operator=(const PodExplainer&) = delete;

  // Requests that begin from now on use this configuration, which has replaced that of Parts. Loop's thread.
  void Reconfigure(const config::SchedulerConfig& config);

  // Called on the thread of evaluations. Null: the pod ("namespace/name") is unknown; an error: the copy
  // cannot be made, or the requests have ended (End). If the loop ends first, `take` is destroyed without a
  // call.
  using Take = std::move_only_function<void(Expected<const Evaluated*>)>;
  // Any thread. Returns false, and ignores the request, if kMostWaiting requests wait already.
  bool Explain(std::string pod, Take take);
  // Answers the requests that wait, and all later ones, with kCancelled on the caller's thread. Those that
  // were begun continue. Any thread.
  void End();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth::evaluation
