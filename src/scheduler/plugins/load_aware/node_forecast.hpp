// The load that is to be expected on the nodes during the first hour of a pod.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "observability/metrics/registry.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/score_parts.hpp"
#include "scheduler/plugins/load_aware/forecast_kernel.hpp"
#include "scheduler/plugins/load_aware/load_aware_args.hpp"
#include "scheduler/plugins/load_aware/workload_forecasts.hpp"

namespace berth::plugins {

// For CPU and memory, the expected load of a node is the sum of the forecasts of its pods, and what it uses
// beside its containers: the measured load of the node minus the measured usage of its containers, never
// negative; of a node without these measurements, the median of the others. A pod without a forecast counts
// with its requests, or with kube-scheduler's defaults for containers without a request.
//
// The amounts by node are maintained with each poll and each pod, so that a decision reads blocks of columns
// only. Changes of a node's allocatable resources take effect with the next poll. Scheduler loop only.
class NodeForecast final : private cluster::PodObserver {
 public:
  // Precondition: args.forecast is set.
  NodeForecast(const LoadAwareArgs& args, framework::Handle& handle);
  ~NodeForecast() override;
  NodeForecast(const NodeForecast&) = delete;
  NodeForecast& operator=(const NodeForecast&) = delete;

  // The sum of the weights of CPU and memory.
  std::int64_t weights() const { return weights_; }
  // Sets the sum of the weights of everything that has values: weights() and those of the bases.
  void SetTotalWeight(std::int64_t weight);
  // Sets the part of the row's score that does not come from the forecast, divided by the total weight.
  void SetBase(cluster::Row row, double base);
  // Writes the score of each feasible row: its base plus the weighted scores of both resources, from 0 (full)
  // to 100 each. Does not allocate, and hashes text only for the first pod of a shape.
  void Score(const framework::Attempt& attempt, const RowSet& feasible, std::span<std::uint8_t> column) const;
  // The expected load with the pod of the attempt; `estimated` is the sum of the forecasts.
  void AddParts(const framework::Attempt& attempt, const RowSet& feasible,
                std::vector<framework::ScorePart>& parts) const;

  // What does not follow from pods and measurements, as a value, for recordings: for each resource, by row.
  using Saved = std::vector<std::vector<double>>;
  // Applies changes of allocatable resources at once. An error if more workloads were met than are stored:
  // which ones are stored depends on their order.
  Expected<Saved> Save();
  // Requires the same nodes, pods and measurements. Bases and the total weight must be set again.
  Expected<void> Restore(const Saved& saved);

 private:
  struct Resource {
    ForecastResource kind{};
    std::string name;
    cluster::ResourceId id;
    std::int64_t weight = 1;
    load_metrics::SignalId forecast{};
    load_metrics::SignalId busy{};           // of the node, 0 to 1
    load_metrics::SignalId container_use{};  // of the node, in cores or bytes
    std::vector<std::int64_t> pods = {};     // by row: sum of the forecasts of its pods
    std::vector<double> beside = {};         // by row: percent of the node that is used beside containers
    metrics::Gauge* workloads = nullptr;     // null: no metrics
    metrics::Gauge* ignored = nullptr;
    bool ignored_logged = false;
  };
  struct ForecastPod {
    cluster::Row row = cluster::kNoRow;
    WorkloadPtr workload;
  };
  // The workloads of the shapes that were evaluated last; the expired ones stay until they are replaced.
  struct ShapeCache {
    struct Slot {
      std::weak_ptr<const cluster::PodShape> shape;
      WorkloadPtr workload;
    };
    std::array<Slot, 256> slots;
  };

  void OnPodAdded(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnPodRemoved(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnNodeAdded(cluster::Row row) override;

  Resource MakeResource(ForecastResource kind, const LoadAwareArgs& args, framework::Handle& handle);
  void OnForecasts(Resource& resource);
  void OnNodeUse(Resource& resource);
  void SumForecasts(Resource& resource);
  static std::int64_t AmountOf(const Resource& resource, const Workload& workload,
                               const cluster::PodUse& use);
  const WorkloadPtr& WorkloadOfAttempt(const framework::Attempt& attempt) const;
  // The expected load of a node in percent, and that of one unit of a pod on it.
  struct Load {
    double expected = 0;
    double per_unit = 0;
  };
  Load LoadOf(const Resource& resource, cluster::Row row) const;
  void Grow();
  // Computes the row's numbers in blocks_.
  void Refresh(const Resource& resource, cluster::Row row);
  void RefreshAll(const Resource& resource);
  std::string NoteOn(const Resource& resource, const framework::Attempt& attempt) const;

  const double percentile_;
  cluster::NodeTable& nodes_;
  load_metrics::SignalTable& measurements_;
  const std::unique_ptr<WorkloadForecasts> workloads_;
  const framework::BufferKey<ShapeCache> shapes_;
  std::vector<Resource> resources_;  // those with a weight
  std::int64_t weights_ = 0;
  std::int64_t total_weight_ = 0;
  std::vector<ForecastBlock> blocks_;  // all that a decision reads; axes in the order of resources_
  boost::unordered_flat_map<const cluster::PlacedPod*, ForecastPod> pods_;
};

}  // namespace berth::plugins
