// ElasticQuotas of kubernetes-sigs/scheduler-plugins (scheduling.x-k8s.io/v1alpha1). meta.hpp describes the
// conventions for all objects.
#pragma once

#include <optional>

#include "kubernetes/api/meta.hpp"
#include "kubernetes/api/resource_list.hpp"

namespace berth::api {

// What the pods of a namespace may use. The status, which a controller writes, is not read.
struct ElasticQuota {
  static constexpr std::string_view kKind = "ElasticQuota";
  static constexpr bool kNamespaced = true;
  ObjectMeta metadata;
  std::optional<ResourceList> min;  // spec.min: guaranteed
  std::optional<ResourceList> max;  // spec.max: the limit; an empty list and nullopt differ
  friend bool operator==(const ElasticQuota&, const ElasticQuota&) = default;
};

}  // namespace berth::api
