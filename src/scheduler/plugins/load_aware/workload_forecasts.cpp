#include "scheduler/plugins/load_aware/workload_forecasts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "scheduler/plugins/load_metrics/workload_usage.hpp"

namespace berth::plugins {
namespace {

// Larger values are not amounts of a pod, and sums of smaller ones do not overflow.
constexpr double kMostAmount = 1e15;

std::optional<std::int64_t> ToAmount(ForecastResource resource, double value) {
  const double amount = resource == ForecastResource::kCpu ? 1000 * value : value;
  if (!(amount >= 0 && amount <= kMostAmount)) return std::nullopt;
  return std::llround(amount);
}

std::string Named(std::string_view ns, std::string_view kind, std::string_view name) {
  if (kind == "ReplicaSet") name = WithoutTemplateHash(name);
  if (kind == "Job") name = WithoutScheduledMinute(name);
  return std::string(ns) + "/" + std::string(kind) + "/" + std::string(name);
}

}  // namespace

std::string_view WithoutTemplateHash(std::string_view replica_set) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  constexpr std::size_t kLongest = 10;
  const auto dash = replica_set.rfind('-');
  if (dash == replica_set.npos || dash == 0) return replica_set;
  const std::string_view hash = replica_set.substr(dash + 1);
  const bool is_hash =
      !hash.empty() && hash.size() <= kLongest && hash.find_first_not_of(kAlphabet) == std::string_view::npos;
  return is_hash ? replica_set.substr(0, dash) : replica_set;
}

WorkloadForecasts::WorkloadForecasts(std::vector<std::string> labels, std::size_t most)
    : labels_(std::move(labels)), most_(most), none_(std::make_shared<const Workload>()) {}

std::string WorkloadForecasts::NameOf(const api::Pod& pod) const {
  const api::ObjectMeta& meta = pod.metadata;
  if (labels_.empty()) {
    if (!meta.controller) return {};
    std::string_view name = meta.controller->name;
    // The label is exact; the name of the series has to do without it.
    if (const std::string* hash = meta.labels.Find(kTemplateHashLabel);
        hash != nullptr && meta.controller->kind == "ReplicaSet" && name.ends_with("-" + *hash)) {
      name.remove_suffix(hash->size() + 1);
      return std::string(meta.ns) + "/ReplicaSet/" + std::string(name);
    }
    return Named(meta.ns, meta.controller->kind, name);
  }
  std::string name = meta.ns;
  for (const std::string& label : labels_) {
    const std::string* value = meta.labels.Find(label);
    if (value == nullptr || value->empty()) return {};
    name.append("/").append(*value);
  }
  return name;
}

std::string WorkloadForecasts::NameOf(const load_metrics::SeriesName& series) const {
  constexpr std::size_t kOfOwner = 3;  // namespace, kind, name
  if (series.size() != (labels_.empty() ? kOfOwner : labels_.size() + 1)) return {};
  if (labels_.empty()) return Named(series[0].second, series[1].second, series[2].second);
  std::string name = series[0].second;
  for (std::size_t i = 1; i < series.size(); ++i) name.append("/").append(series[i].second);
  return name;
}

std::shared_ptr<Workload> WorkloadForecasts::FindOrAdd(std::string name) {
  if (const auto known = workloads_.find(name); known != workloads_.end()) return known->second;
  if (workloads_.size() >= most_) return nullptr;
  auto workload = std::make_shared<Workload>(Workload{name, {}});
  workloads_.emplace(std::move(name), workload);
  return workload;
}

WorkloadPtr WorkloadForecasts::Of(const api::Pod& pod) {
  std::string name = NameOf(pod);
  if (name.empty()) return none_;
  WorkloadPtr workload = FindOrAdd(std::move(name));
  return workload == nullptr ? none_ : workload;
}

WorkloadForecasts::Taken WorkloadForecasts::Take(ForecastResource resource,
                                                 const std::vector<load_metrics::SeriesValue>& series) {
  const auto index = static_cast<std::size_t>(resource);
  for (auto& [name, workload] : workloads_) workload->forecast[index].reset();
  Taken taken;
  for (const auto& [labels, value] : series) {
    std::string name = NameOf(labels);
    const auto amount = ToAmount(resource, value);
    if (name.empty() || !amount) continue;
    const std::shared_ptr<Workload> workload = FindOrAdd(std::move(name));
    if (workload == nullptr) {
      ++taken.ignored;
      continue;
    }
    std::optional<std::int64_t>& forecast = workload->forecast[index];
    taken.known += !forecast;
    forecast = std::max(forecast.value_or(0), *amount);
  }
  boost::unordered::erase_if(workloads_, [](const auto& entry) {
    const Workload& workload = *entry.second;
    return entry.second.use_count() == 1 && !workload.forecast[0] && !workload.forecast[1];
  });
  return taken;
}

}  // namespace berth::plugins
