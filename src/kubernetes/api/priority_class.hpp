// PriorityClasses (scheduling.k8s.io/v1). meta.hpp describes the conventions for all objects.
#pragma once

#include <cstdint>

#include "kubernetes/api/meta.hpp"

namespace berth::api {

// The priority of the pods that name the class, at the time of their creation. Of the annotations, those of
// scheduler-plugins' PreemptionToleration are kept.
struct PriorityClass {
  static constexpr std::string_view kKind = "PriorityClass";
  static constexpr bool kNamespaced = false;
  // How long pods of the class tolerate preemption by which priorities.
  static constexpr std::string_view kMinimumPreemptablePriority =
      "preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority";
  static constexpr std::string_view kTolerationSeconds =
      "preemption-toleration.scheduling.x-k8s.io/toleration-seconds";
  ObjectMeta metadata;
  std::int32_t value = 0;
  friend bool operator==(const PriorityClass&, const PriorityClass&) = default;
};

}  // namespace berth::api
