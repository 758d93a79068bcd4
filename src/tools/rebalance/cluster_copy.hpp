// A copy of the cluster in which the scheduler's own algorithm decides on pods as if they had been evicted.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/scheduler_config.hpp"
#include "scheduler/algorithm/current_view.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/runtime/registry.hpp"
#include "tools/rebalance/measured_load.hpp"

namespace berth::rebalance {

// What is copied. The engine must have been built from the same configuration; it is only read.
struct CopySource {
  const config::SchedulerConfig& config;
  const runtime::Registry& plugins;
  assembly::Engine& live;
  std::span<const api::PodPtr> pending;  // pods without a node; their nominations count
  const MeasuredLoad& load;
  const Clock& clock;
};

// Has its own engine, so that nothing of it is visible elsewhere. One thread.
class ClusterCopy {
 public:
  static Expected<std::unique_ptr<ClusterCopy>> Create(const CopySource& source);

  // Whether a profile is responsible for the pod.
  bool Schedules(const api::Pod& pod) const;

  struct Choice {
    std::vector<std::string> nodes;  // all equally good nodes, by row; empty: none fits
    // These and the nodes whose score is at most kNear lower: the scheduler may choose one of them if the
    // cluster changes between the plan and the placement.
    std::vector<std::string> near;
    std::string failure;  // why none fits
  };
  static constexpr double kNear = 0.03;  // of the best total score
  // The decision on a pod that replaces `pod`: the pod is removed, its replacement is pending and has no
  // status. The copy is unchanged afterwards. All nodes are searched.
  Choice Choose(const api::PodPtr& pod);

  // Moves the pod to another node of the copy.
  void Move(const api::PodPtr& pod, const std::string& to);
  // Adds to the measured load of a node, in percent.
  void AddLoad(const SignalLoad& signal, std::string_view node, double percent);

 private:
  explicit ClusterCopy(const Clock& clock);
  void CopyObjects(const CopySource& source);
  void CopyMeasurements(const CopySource& source);
  void AddToValue(load_metrics::SignalId id, std::string_view node, double more);
  void AddToContainers(const SignalLoad& signal, std::string_view node, cluster::Row row, double percent);
  void Deliver(load_metrics::SignalId id);

  assembly::DryRunPorts ports_;
  std::unique_ptr<assembly::Engine> engine_;
  std::unique_ptr<algorithm::SchedulingAlgorithm> algorithm_;
  algorithm::CurrentView view_;
  std::vector<cluster::PodInfo> nominated_;
  std::vector<runtime::Nomination> nominations_;
  MonoTime polled_at_;
  load_metrics::SeriesChunk names_;          // of all nodes, in the order of rows
  std::vector<std::vector<double>> values_;  // by signal and series number; NaN: no value
};

}  // namespace berth::rebalance
