// Controllers of pods.
#pragma once

#include "kubernetes/api/meta.hpp"

namespace berth::api {

// Whether the object's controller is a DaemonSet. Its pods belong to their nodes: they do not end, and come
// back when they are evicted.
inline bool IsOfDaemonSet(const ObjectMeta& pod) {
  return pod.controller && pod.controller->kind == "DaemonSet";
}

}  // namespace berth::api
