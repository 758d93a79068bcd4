// A copy of the running scheduler's cluster, in which pods are evaluated on another thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "config/scheduler_config.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/assembly/pod_evaluator.hpp"
#include "scheduler/evaluation/copy_update.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::evaluation {

// What a copy can evaluate: the configuration without plugins that are not built into Berth, because they may
// be called on the scheduler loop only, and without extenders.
struct CopyConfig {
  config::SchedulerConfig config;
  std::vector<std::string> left_out;  // texts for users
};
CopyConfig ConfigOfCopy(const config::SchedulerConfig& config, const runtime::Registry& plugins);

// Has its own engine, which shares only immutable objects with the live one. One thread at a time.
class ClusterCopy {
 public:
  // Everything must outlive the copy.
  struct Parts {
    const config::SchedulerConfig& config;  // of ConfigOfCopy
    const runtime::Registry& plugins;
    const Clock& clock;
  };
  static Expected<std::unique_ptr<ClusterCopy>> Create(const Parts& parts);
  ~ClusterCopy();

  // The first update must be complete; a later one must not be.
  void Apply(CopyUpdate update);

  // The pod of this name ("namespace/name") on a node of the copy; null if there is none. Linear in the
  // number of pods.
  api::PodPtr FindPlaced(std::string_view key) const;
  // The pod of this UID on a node of the copy; null if there is none.
  api::PodPtr FindPlacedByUid(const std::string& uid) const;

  assembly::PodEvaluator& evaluator() { return *evaluator_; }
  const assembly::Engine& engine() const { return *engine_; }

 private:
  // The row of the live table with what the copy has of it.
  struct CopiedRow {
    std::string node;  // empty: none
    api::NodePtr object;
    std::vector<api::PodPtr> pods;  // sorted by pointer
  };
  class ClockOnly;

  explicit ClusterCopy(const Parts& parts);
  void ApplyObjects(const std::vector<ports::ClusterChange>& changes);
  void ApplyRows(std::vector<RowState>& rows);
  void ApplySignals(const std::vector<SignalState>& signals);
  void ApplyNominations(const std::vector<NominatedPod>& pods);
  void ApplyGroups(std::vector<GroupState> groups, std::vector<api::PodGroupPtr> composites);

  const Parts parts_;
  const std::unique_ptr<ClockOnly> loop_;
  assembly::DryRunPorts ports_;
  std::unique_ptr<assembly::Engine> engine_;
  std::unique_ptr<assembly::PodEvaluator> evaluator_;
  std::vector<CopiedRow> rows_;  // by live row
  std::vector<GroupState> groups_;
  std::vector<api::PodGroupPtr> composites_;
  MonoTime next_release_{};
};

}  // namespace berth::evaluation
