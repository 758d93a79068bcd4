#include "scheduler/plugins/capacity_scheduling/quota_series.hpp"

#include <algorithm>
#include <utility>

namespace berth::plugins {
namespace {

constexpr const char* kUsed = "berth_quota_used";
constexpr const char* kMin = "berth_quota_min";
constexpr const char* kMax = "berth_quota_max";
constexpr const char* kReclaimed = "berth_quota_reclaimed_pods_total";
constexpr const char* kUnserved = "berth_quota_unserved_attempts_total";

double InBaseUnits(const std::string& resource, std::int64_t amount) {
  return resource == "cpu" ? static_cast<double>(amount) / 1000 : static_cast<double>(amount);
}

}  // namespace

QuotaSeries::~QuotaSeries() {
  for (const auto& [ns, known] : namespaces_) {
    Withdraw(ns, known);
    WithdrawCounters(ns);
  }
}

void QuotaSeries::Put(const std::string& ns, const Quota& quota, const QuotaAmounts& used) {
  if (registry_ == nullptr) return;
  auto known = namespaces_.find(ns);
  if (known == namespaces_.end()) {
    if (namespaces_.size() == kMostNamespaces) return;
    auto reclaimed = std::make_shared<std::atomic<std::uint64_t>>(0);
    auto unserved = std::make_shared<std::atomic<std::uint64_t>>(0);
    registry_->CallbackCounter(
        kReclaimed,
        "[ALPHA] Pods selected for eviction because their namespace used more than the minimum of its quota, "
        "for pods of namespaces within theirs.",
        {{"namespace", ns}}, [reclaimed] { return static_cast<double>(reclaimed->load()); });
    registry_->CallbackCounter(kUnserved,
                               "[ALPHA] Failed attempts of pods with which their namespace would be within "
                               "the minimum of its quota.",
                               {{"namespace", ns}},
                               [unserved] { return static_cast<double>(unserved->load()); });
    known = namespaces_.emplace(ns, Namespace{{}, std::move(reclaimed), std::move(unserved)}).first;
  }
  std::vector<Resource>& resources = known->second.resources;
  std::vector<Resource> wanted = ResourcesOf(quota);
  const auto same = [](const Resource& a, const Resource& b) {
    return a.name == b.name && a.limited == b.limited;
  };
  if (!std::ranges::equal(resources, wanted, same)) {
    Withdraw(ns, known->second);
    resources = std::move(wanted);
    for (Resource& resource : resources) {
      resource.values = std::make_shared<Values>();
      Export(ns, resource);
    }
  }
  for (const Resource& resource : resources) {
    resource.values->min = InBaseUnits(resource.name, AmountOf(quota.min, resource.name));
    resource.values->max = InBaseUnits(resource.name, AmountOf(quota.max, resource.name));
  }
  SetUsed(ns, used);
}

std::vector<QuotaSeries::Resource> QuotaSeries::ResourcesOf(const Quota& quota) {
  std::vector<Resource> resources;
  for (const std::string& name : quota.resources) {
    if (resources.size() == kMostResources) break;
    resources.push_back({name, quota.Limits(name), nullptr});
  }
  return resources;
}

void QuotaSeries::Export(const std::string& ns, const Resource& resource) {
  const std::shared_ptr<Values>& values = resource.values;
  registry_->CallbackGauge(
      kUsed,
      "[ALPHA] What the pods of a namespace with a quota request, in base units, for the resources of the "
      "quota.",
      {{"namespace", ns}, {"resource", resource.name}}, [values] { return values->used.load(); });
  registry_->CallbackGauge(kMin, "[ALPHA] Guaranteed minimum of the namespace's quota, in base units.",
                           {{"namespace", ns}, {"resource", resource.name}},
                           [values] { return values->min.load(); });
  if (!resource.limited) return;
  registry_->CallbackGauge(kMax, "[ALPHA] Maximum of the namespace's quota, in base units.",
                           {{"namespace", ns}, {"resource", resource.name}},
                           [values] { return values->max.load(); });
}

void QuotaSeries::Withdraw(const std::string& ns, const Namespace& known) {
  for (const Resource& resource : known.resources) {
    for (const char* metric : {kUsed, kMin, kMax})
      registry_->RemoveCallback(metric, {{"namespace", ns}, {"resource", resource.name}});
  }
}

void QuotaSeries::WithdrawCounters(const std::string& ns) {
  for (const char* metric : {kReclaimed, kUnserved}) registry_->RemoveCallback(metric, {{"namespace", ns}});
}

void QuotaSeries::Remove(const std::string& ns) {
  const auto known = namespaces_.find(ns);
  if (known == namespaces_.end()) return;
  Withdraw(ns, known->second);
  WithdrawCounters(ns);
  namespaces_.erase(known);
}

void QuotaSeries::SetUsed(std::string_view ns, const QuotaAmounts& used) {
  const auto known = namespaces_.find(ns);
  if (known == namespaces_.end()) return;
  for (const Resource& resource : known->second.resources) {
    resource.values->used.store(InBaseUnits(resource.name, AmountOf(used, resource.name)),
                                std::memory_order_relaxed);
  }
}

void QuotaSeries::CountReclaimed(std::string_view ns) {
  const auto known = namespaces_.find(ns);
  if (known != namespaces_.end()) known->second.reclaimed->fetch_add(1, std::memory_order_relaxed);
}

void QuotaSeries::CountUnserved(std::string_view ns) {
  const auto known = namespaces_.find(ns);
  if (known != namespaces_.end()) known->second.unserved->fetch_add(1, std::memory_order_relaxed);
}

}  // namespace berth::plugins
