// The expected usage of a pod of each workload.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_map.hpp"
#include "kubernetes/api/pod.hpp"
#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::plugins {

enum class ForecastResource : std::uint8_t { kCpu, kMemory };
inline constexpr std::size_t kForecastResources = 2;

// Pods that are expected to use equal amounts.
struct Workload {
  std::string name;  // "default/ReplicaSet/web"; empty: of pods without a workload
  // By ForecastResource, of one pod: milli-cores, bytes. nullopt: none yet.
  std::array<std::optional<std::int64_t>, kForecastResources> forecast;
};
using WorkloadPtr = std::shared_ptr<const Workload>;

// The forecasts by workload. A workload is the controller of a pod, independent of revision and run: the
// ReplicaSets of a Deployment are one workload, and so are the Jobs of a CronJob. With `labels` it is the
// namespace and the values of these labels; pods without one of them have no workload.
//
// Bounded: at most `most` workloads are stored. Further pods have no workload, and further series are
// ignored. A workload is removed with an answer that does not contain it, if no pod refers to it. Scheduler
// loop only.
class WorkloadForecasts {
 public:
  WorkloadForecasts(std::vector<std::string> labels, std::size_t most);

  // The workload of the pod; the object stays the same as long as a reference to it exists, and its forecasts
  // change with Take. Never null.
  WorkloadPtr Of(const api::Pod& pod);

  struct Taken {
    std::size_t known = 0;    // workloads with a forecast
    std::size_t ignored = 0;  // series beyond the limit
  };
  // Replaces all forecasts of the resource: cores or bytes, by series with the labels of the query
  // (ForecastSpecOf). If several series belong to one workload, the highest counts. Negative values and
  // series with missing labels are ignored.
  Taken Take(ForecastResource resource, const std::vector<load_metrics::SeriesValue>& series);

  std::size_t size() const { return workloads_.size(); }

 private:
  std::string NameOf(const api::Pod& pod) const;
  std::string NameOf(const load_metrics::SeriesName& series) const;
  std::shared_ptr<Workload> FindOrAdd(std::string name);

  const std::vector<std::string> labels_;
  const std::size_t most_;
  FlatTextMap<std::shared_ptr<Workload>> workloads_;
  const WorkloadPtr none_;
};

// "web-5d4f8" -> "web" if the last part is a hash as Kubernetes writes it: one to ten characters of an
// alphabet without vowels.
std::string_view WithoutTemplateHash(std::string_view replica_set);

}  // namespace berth::plugins
