// Compares two configurations on the running scheduler's cluster, without delaying its decisions.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "config/scheduler_config.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/cycle/cluster_loop.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::evaluation {

// The nodes that two configurations select for a pod; empty: none fits.
struct ChangedDecision {
  std::string pod;  // "namespace/name"
  std::string before, after;
};

struct PreviewReport {
  std::size_t compared = 0;  // pods
  // Pods for which the node of the first configuration is none of the best nodes of the second one, or that
  // fit with one of them only.
  std::size_t changed = 0;
  std::vector<ChangedDecision> examples;  // the newest decisions, at most ConfigPreview::kMostExamples
  std::vector<std::string> left_out;      // what was not considered; texts for users
};

// Evaluates the pods of the last decisions with both configurations on a copy of the cluster (ClusterCopy):
// pods on nodes as if they were not there. The copy is read in steps of bounded work (ChangeReader), made for
// one comparison, and evaluated on a thread with lower priority. Members of pod groups are not compared, nor
// are pods that are gone.
class ConfigPreview {
 public:
  static constexpr std::size_t kMostPods = 200;
  static constexpr std::size_t kMostRecords = 2'000;  // the newest ones, which are searched for pods
  static constexpr std::size_t kMostExamples = 20;

  // Everything must outlive the preview, and the engine everything that changes its objects.
  struct Parts {
    cycle::ClusterLoop& loop;
    const cycle::Scheduler& scheduler;
    assembly::Engine& live;
    const runtime::Registry& plugins;
    const Clock& clock;
    metrics::Registry& metrics;
  };
  explicit ConfigPreview(const Parts& parts);
  ~ConfigPreview();  // as Cancel
  ConfigPreview(const ConfigPreview&) = delete;
  ConfigPreview& operator=(const ConfigPreview&) = delete;

  // Called on the loop's thread, possibly before Compare returns. An error: the cluster cannot be copied with
  // one of the configurations. If the loop or the preview ends first, it is destroyed without a call.
  using Take = std::move_only_function<void(Expected<PreviewReport>)>;
  // Loop's thread. One comparison at a time.
  void Compare(const config::SchedulerConfig& before, const config::SchedulerConfig& after, Take take);
  // Ends the comparison in progress, and waits for it. What it has posted to the loop may remain there. Later
  // comparisons are dropped. Not while the loop runs on another thread.
  void Cancel();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth::evaluation
