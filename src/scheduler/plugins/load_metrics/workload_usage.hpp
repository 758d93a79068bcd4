// Measured resource usage per workload, learned from its running pods, as an estimate for its next pod.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/text_map.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::plugins {

// The label of a pod with the hash of its template, which ends the name of its ReplicaSet.
inline constexpr std::string_view kTemplateHashLabel = "pod-template-hash";

// The name of a CronJob's Job without the minute for which it was scheduled: "report-28931040" -> "report".
// Other names are unchanged.
std::string_view WithoutScheduledMinute(std::string_view job);

// The workload of a pod: its controller, independent of revision or run. The ReplicaSets of a Deployment are
// one workload, and so are the Jobs of a CronJob. Empty: the pod has no controller.
std::string WorkloadOf(const api::Pod& pod);

// Per workload the mean over its pods, exponentially smoothed over time, so that a single outlier has little
// effect. Only pods that ran for the whole window of the query are used. Scheduler loop only.
class WorkloadUsage final : private cluster::PodObserver {
 public:
  WorkloadUsage(framework::Handle& handle, load_metrics::SignalId signal);
  ~WorkloadUsage() override;
  WorkloadUsage(const WorkloadUsage&) = delete;
  WorkloadUsage& operator=(const WorkloadUsage&) = delete;

  // The usage of a pod of this workload, in the query's unit; NaN: unknown.
  double Of(const api::Pod& pod) const;
  std::size_t known() const { return known_; }

  // The content as a value, for recordings. Restore requires the same pods.
  struct Saved {
    struct Learned {
      std::string workload;
      double use = 0;
      MonoTime at;
      static void VisitFields(auto& self, auto&& visit) {
        visit("workload", self.workload);
        visit("use", self.use);
        visit("at", self.at);
      }
    };
    std::vector<Learned> learned;
    std::vector<std::string> series;
    static void VisitFields(auto& self, auto&& visit) {
      visit("learned", self.learned);
      visit("series", self.series);
    }
  };
  Saved Save() const;
  Expected<void> Restore(const Saved& saved);

 private:
  struct Workload {
    double use = load_metrics::kNoValue;
    MonoTime learned{};
    double sum = 0;  // of the poll result that is being processed
    std::uint32_t pods = 0;
  };
  struct Running {
    const cluster::PlacedPod* pod = nullptr;
    std::string workload;
  };

  void OnPodAdded(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnPodRemoved(cluster::Row row, const cluster::PlacedPod& pod) override;
  void Take(const load_metrics::SignalAnswer& answer);
  bool IsLearnable(const api::Pod& pod) const;
  void ForgetOld(MonoTime now);

  cluster::NodeTable& nodes_;
  const load_metrics::SignalTable& measurements_;
  const load_metrics::SignalId signal_;
  FlatTextMap<Running> running_;  // by namespace/name
  FlatTextMap<Workload> workloads_;
  std::vector<std::string> series_;  // by series number: namespace/name
  std::size_t known_ = 0;
};

}  // namespace berth::plugins
