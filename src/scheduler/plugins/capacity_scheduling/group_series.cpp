#include "scheduler/plugins/capacity_scheduling/group_series.hpp"

#include <utility>

namespace berth::plugins {
namespace {

constexpr const char* kGroupUsed = "berth_quota_group_used";
constexpr const char* kGroupRuntime = "berth_quota_group_runtime";
constexpr const char* kGroupMin = "berth_quota_group_min";
constexpr const char* kGroupMax = "berth_quota_group_max";
constexpr const char* kProblems = "berth_quota_groups_without_place";

std::int64_t AmountIn(const QuotaGroup::Amounts& amounts, const std::string& resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0 : found->second;
}

}  // namespace

GroupSeries::GroupSeries(metrics::Registry* registry) : registry_(registry) {
  if (registry_ == nullptr) return;
  registry_->CallbackGauge(
      kProblems,
      "[ALPHA] Elastic quotas that have no place in the quota tree, so that their pods are rejected.", {},
      [problems = problems_] { return static_cast<double>(problems->load()); });
}

GroupSeries::~GroupSeries() {
  if (registry_ == nullptr) return;
  registry_->RemoveCallback(kProblems, {});
  for (const auto& [name, group] : groups_) {
    for (const auto& [resource, values] : group.resources) Withdraw(name, resource);
  }
}

void GroupSeries::Begin() {
  for (auto& [name, group] : groups_) group.put = false;
}

void GroupSeries::Put(const QuotaGroup& group) {
  if (registry_ == nullptr) return;
  auto known = groups_.find(group.name);
  if (known == groups_.end()) {
    if (groups_.size() == kMostGroups) return;
    known = groups_.emplace(group.name, Group()).first;
  }
  auto& resources = known->second.resources;
  known->second.put = true;
  std::erase_if(resources, [&](const auto& entry) {
    if (group.max.contains(entry.first)) return false;
    Withdraw(group.name, entry.first);
    return true;
  });
  for (const auto& [resource, max] : group.max) {
    if (!resources.contains(resource)) {
      if (resources.size() == kMostResources) continue;
      Export(group.name, resource, resources.emplace(resource, std::make_shared<Values>()).first->second);
    }
    Values& values = *resources[resource];
    values.min = InBaseUnits(resource, AmountIn(group.min, resource));
    values.max = InBaseUnits(resource, max);
  }
}

void GroupSeries::End(std::size_t problems) {
  problems_->store(problems, std::memory_order_relaxed);
  std::erase_if(groups_, [&](const auto& entry) {
    if (entry.second.put) return false;
    for (const auto& [resource, values] : entry.second.resources) Withdraw(entry.first, resource);
    return true;
  });
}

void GroupSeries::Export(const std::string& group, const std::string& resource,
                         const std::shared_ptr<Values>& values) {
  registry_->CallbackGauge(
      kGroupUsed,
      "[ALPHA] What the pods of a quota group and of the groups below it request on nodes, in base units.",
      {{"quota", group}, {"resource", resource}}, [values] { return values->used.load(); });
  registry_->CallbackGauge(
      kGroupRuntime,
      "[ALPHA] Runtime quota of the group, in base units: what its pods may use. Updated when a pod of the "
      "group or of one beside or below it is evaluated.",
      {{"quota", group}, {"resource", resource}}, [values] { return values->runtime.load(); });
  registry_->CallbackGauge(kGroupMin, "[ALPHA] Guaranteed minimum of the quota group, in base units.",
                           {{"quota", group}, {"resource", resource}},
                           [values] { return values->min.load(); });
  registry_->CallbackGauge(kGroupMax, "[ALPHA] Maximum of the quota group, in base units.",
                           {{"quota", group}, {"resource", resource}},
                           [values] { return values->max.load(); });
}

void GroupSeries::Withdraw(const std::string& group, const std::string& resource) {
  for (const char* metric : {kGroupUsed, kGroupRuntime, kGroupMin, kGroupMax})
    registry_->RemoveCallback(metric, {{"quota", group}, {"resource", resource}});
}

GroupSeries::Values* GroupSeries::Find(const std::string& group, const std::string& resource) const {
  const auto known = groups_.find(group);
  if (known == groups_.end()) return nullptr;
  const auto values = known->second.resources.find(resource);
  return values == known->second.resources.end() ? nullptr : values->second.get();
}

double GroupSeries::InBaseUnits(const std::string& resource, std::int64_t amount) {
  return resource == "cpu" ? static_cast<double>(amount) / 1000 : static_cast<double>(amount);
}

}  // namespace berth::plugins
