// Node selection for pods of daemon sets and for volumes.
#pragma once

#include "sandbox/store/object.hpp"

namespace berth::sandbox {

// A v1.NodeSelector: any of its terms, each with matchExpressions and matchFields (metadata.name). A selector
// without terms, and an empty term, match nothing.
bool MatchesNodeSelector(const json::object& selector, const Object& node);
// spec.nodeSelector and the required node affinity of a pod's spec.
bool MatchesNodeAffinity(const json::object& pod_spec, const Object& node);
// True if a toleration of the list tolerates the taint.
bool ToleratesTaint(const json::array& tolerations, const json::object& taint);

}  // namespace berth::sandbox
