// The elastic quota of one namespace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kubernetes/api/objects.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_amounts.hpp"

namespace berth::plugins {

struct Quota {
  // An attempt compares each resource of a quota, so more of them are an error.
  static constexpr std::size_t kMaxResources = 64;
  static constexpr std::int64_t kUnlistedMin = 0;
  static constexpr std::int64_t kUnlistedMax = INT64_MAX;

  std::string name;  // of the object
  QuotaAmounts min;  // guaranteed
  QuotaAmounts max;  // the limit
  // Those that `min` or `max` of the object list and that pods can request: "cpu", "memory" and
  // "ephemeral-storage", then others by name.
  std::vector<std::string> resources;
  // Why no pod of the namespace may be scheduled, with the field; empty: the quota is valid.
  std::string invalid;

  // Whether `max` limits the resource.
  bool Limits(const std::string& resource) const;
};
Quota ToQuota(const api::ElasticQuota& object);

}  // namespace berth::plugins
