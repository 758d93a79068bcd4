// Controllers of pods.
#pragma once

#include <string_view>

#include "kubernetes/api/meta.hpp"

namespace berth::api {

// Whether the object's controller is a DaemonSet. Its pods belong to their nodes: they do not end, and come
// back when they are evicted.
inline bool IsOfDaemonSet(const ObjectMeta& pod) {
  return pod.controller && pod.controller->kind == "DaemonSet";
}

// The annotation of mirror pods. Decoders must retain it for IsMirrorPod (RetainedFields).
inline constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";

// Whether the pod shows a static pod of a kubelet, which restarts it whatever the API server does.
inline bool IsMirrorPod(const ObjectMeta& pod) {
  return pod.Annotation(kMirrorAnnotation) != nullptr || (pod.controller && pod.controller->kind == "Node");
}

// Whether the pod belongs to its node: deleted, it comes back there at once.
inline bool ComesBack(const ObjectMeta& pod) { return IsOfDaemonSet(pod) || IsMirrorPod(pod); }

}  // namespace berth::api
