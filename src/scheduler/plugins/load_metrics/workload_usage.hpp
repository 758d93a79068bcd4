// What the pods of a workload use in truth, learned from those that have run for a while: the best guess of
// what its next pod will use.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/cluster/node_table.hpp"

namespace berth::plugins {

// A workload is who controls the pods, whatever version or run of it: the ReplicaSets of one Deployment are
// one, and so are the Jobs of one CronJob. Empty: nobody controls the pod, and nothing can be learned from
// it.
std::string WorkloadOf(const api::Pod& pod);

// Per workload the mean over its pods, and over time a decayed mean of that, so that one odd hour does not
// rule. Only pods that have run for the whole window of the query teach anything. One thread: the loop's.
class WorkloadUsage final : private cluster::PodObserver {
 public:
  WorkloadUsage(framework::Handle& handle, load_metrics::SignalId signal);
  ~WorkloadUsage() override;
  WorkloadUsage(const WorkloadUsage&) = delete;
  WorkloadUsage& operator=(const WorkloadUsage&) = delete;

  // What a pod of this workload uses, in the query's unit; NaN: not known.
  double Of(const api::Pod& pod) const;
  std::size_t known() const { return known_; }

 private:
  struct Workload {
    double use = load_metrics::kNoValue;
    MonoTime taught{};
    double sum = 0;  // of the answer that is being read
    std::uint32_t pods = 0;
  };
  struct Running {
    const cluster::PlacedPod* pod = nullptr;
    std::string workload;
  };

  void PodAppears(cluster::Row row, const cluster::PlacedPod& pod, bool imagined) override;
  void PodLeaves(cluster::Row row, const cluster::PlacedPod& pod, bool imagined) override;
  void Take(const load_metrics::SignalAnswer& answer);
  bool Teaches(const api::Pod& pod) const;
  void ForgetOld(MonoTime now);

  cluster::NodeTable& nodes_;
  const load_metrics::SignalTable& measurements_;
  const load_metrics::SignalId signal_;
  boost::unordered_flat_map<std::string, Running> running_;  // by namespace/name
  boost::unordered_flat_map<std::string, Workload> workloads_;
  std::vector<std::string> series_;  // by number: namespace/name
  std::size_t known_ = 0;
};

}  // namespace berth::plugins
