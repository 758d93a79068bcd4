#include "scheduler/plugins/capacity_scheduling/quota.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string_view>

#include "kubernetes/api/requests.hpp"

namespace berth::plugins {
namespace {

constexpr const char* kFirst[] = {"cpu", "memory", "ephemeral-storage"};

// scheduler-plugins' bound for a quota without `max`: it lists no other resources.
QuotaAmounts NoLimit() {
  return {.milli_cpu = Quota::kUnlistedMax,
          .memory = Quota::kUnlistedMax,
          .ephemeral_storage = Quota::kUnlistedMax};
}

std::string CheckSize(std::string_view field, const std::optional<api::ResourceList>& list) {
  if (!list || list->size() <= Quota::kMaxResources) return {};
  return fmt::format("{}: {} resources: must have at most {}", field, list->size(), Quota::kMaxResources);
}

std::vector<std::string> ResourcesOf(const api::ElasticQuota& object) {
  std::set<std::string> listed;
  for (const auto* list : {&object.min, &object.max}) {
    if (!*list) continue;
    for (const auto& [name, quantity] : **list) {
      const api::ResourceClass kind = api::ClassOf(name);
      if (kind != api::ResourceClass::kIgnored && kind != api::ResourceClass::kPods) listed.insert(name);
    }
  }
  std::vector<std::string> resources;
  for (const char* name : kFirst) {
    if (listed.erase(name) > 0) resources.emplace_back(name);
  }
  resources.insert(resources.end(), listed.begin(), listed.end());
  return resources;
}

}  // namespace

Quota ToQuota(const api::ElasticQuota& object) {
  Quota quota{.name = object.metadata.name, .min = {}, .max = NoLimit(), .resources = {}, .invalid = {}};
  quota.invalid = CheckSize("spec.min", object.min);
  if (quota.invalid.empty()) quota.invalid = CheckSize("spec.max", object.max);
  if (!quota.invalid.empty()) return quota;
  if (object.min) quota.min = ToQuotaAmounts(*object.min);
  if (object.max) quota.max = ToQuotaAmounts(*object.max);
  quota.resources = ResourcesOf(object);
  return quota;
}

bool Quota::Limits(const std::string& resource) const {
  for (const char* name : kFirst) {
    if (resource == name) return AmountOf(max, resource) != kUnlistedMax;
  }
  return max.FindScalar(resource) != nullptr;
}

}  // namespace berth::plugins
