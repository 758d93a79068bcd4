// Helpers of the defaults.
#pragma once

#include <string_view>

#include "base/clock.hpp"
#include "sandbox/apiserver/defaults/defaults.hpp"
#include "sandbox/store/document.hpp"

namespace berth::sandbox {

inline void SetDefault(json::object& object, std::string_view key, const json::value& value) {
  json::value& member = object[key];
  if (member.is_null()) member = value;
}

// For strings: the empty string counts as unset, too.
inline void SetText(json::object& object, std::string_view key, std::string_view text) {
  json::value& member = object[key];
  if (member.is_null() || (member.is_string() && member.get_string().empty())) member = text;
}

// The nested object; null if absent.
inline json::object* Below(json::object& object, std::string_view key) {
  json::value* value = object.if_contains(key);
  return value != nullptr ? value->if_object() : nullptr;
}

template <class Visit>
void ForEachObject(json::object& parent, std::string_view list, Visit&& visit) {
  json::value* value = parent.if_contains(list);
  if (value == nullptr || !value->is_array()) return;
  for (auto& element : value->get_array()) {
    if (element.is_object()) visit(element.get_object());
  }
}

// For a pod's spec or the spec of a pod template.
void DefaultPodSpec(json::object& spec);

// Fills in missing pod-level requests from the containers, or from the pod-level limits if no container has a
// request.
void AdmitPodLevelRequests(json::object& pod_spec);

// Deployments and other workloads.
void DefaultWorkload(std::string_view plural, json::object& document);

// resource.k8s.io. `now`: of taints without a time.
void DefaultDevices(std::string_view plural, json::object& document, WallTime now);

}  // namespace berth::sandbox
