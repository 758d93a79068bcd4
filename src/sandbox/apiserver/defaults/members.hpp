// Helpers of the defaults.
#pragma once

#include <string_view>

#include "sandbox/store/document.hpp"

namespace berth::sandbox {

inline void SetDefault(json::object& object, std::string_view key, const json::value& value) {
  json::value& member = object[key];
  if (member.is_null()) member = value;
}

// For texts, where empty counts as unset, too.
inline void SetText(json::object& object, std::string_view key, std::string_view text) {
  json::value& member = object[key];
  if (member.is_null() || (member.is_string() && member.get_string().empty())) member = text;
}

// The nested object if it is there.
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

// Of a pod, or of the pods that a template makes.
void DefaultPodSpec(json::object& spec);

// Pod-level requests that are missing follow the containers, or the pod-level limits if no container asks.
void AdmitPodLevelRequests(json::object& pod_spec);

// Deployments and their like.
void DefaultWorkload(std::string_view plural, json::object& document);

}  // namespace berth::sandbox
