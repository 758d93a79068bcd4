// Objects that group pods: namespaces, services, controllers that own pods, disruption budgets. meta.hpp
// describes the conventions for all objects.
#pragma once

#include "kubernetes/api/meta.hpp"

namespace berth::api {

struct Namespace {
  static constexpr std::string_view kKind = "Namespace";
  static constexpr bool kNamespaced = false;
  ObjectMeta metadata;
};

struct Service {
  static constexpr std::string_view kKind = "Service";
  static constexpr bool kNamespaced = true;
  ObjectMeta metadata;
  Labels selector;  // an empty selector selects nothing
};

struct ReplicationController {
  static constexpr std::string_view kKind = "ReplicationController";
  static constexpr bool kNamespaced = true;
  ObjectMeta metadata;
  Labels selector;
};

struct ReplicaSet {
  static constexpr std::string_view kKind = "ReplicaSet";
  static constexpr bool kNamespaced = true;
  ObjectMeta metadata;
  CowPtr<LabelSelector> selector;
};

struct StatefulSet {
  static constexpr std::string_view kKind = "StatefulSet";
  static constexpr bool kNamespaced = true;
  ObjectMeta metadata;
  CowPtr<LabelSelector> selector;
};

struct PodDisruptionBudget {
  static constexpr std::string_view kKind = "PodDisruptionBudget";
  static constexpr bool kNamespaced = true;
  ObjectMeta metadata;
  CowPtr<LabelSelector> selector;
  std::int32_t disruptions_allowed = 0;
  std::vector<std::string> disrupted_pods;  // names, sorted
};

}  // namespace berth::api
