// Validation of objects: 400 for a wrong structure, 422 for invalid values.
#pragma once

#include <string>
#include <vector>

#include "sandbox/apiserver/verbs.hpp"
#include "sandbox/store/document.hpp"

namespace berth::sandbox {

// Checks the types of all fields (see schema/). Quantities written as numbers become strings, as in a typed
// API server. Unknown fields are dropped, reported or rejected (400), depending on the options. 422 if the
// document is nested deeper than kMaxNesting.
ApiResult<> CheckShape(const ResourceType& type, json::object& document, const WriteOptions& options);

// Validates names, labels, and those rules of pods and workloads that protect a scheduler from invalid input.
// Does not cover the whole of Kubernetes' validation. `before`: the stored state, whose valid parts are not
// validated again; null for a new object.
ApiResult<> Validate(const ResourceType& type, const json::object& document, const json::object* before);

// Rejects changes of immutable fields: most of a pod's spec, selectors, fields marked immutable, finalizers
// of an object under deletion. Both documents are normalized.
ApiResult<> ValidateChange(const ResourceType& type, Part part, const json::object& before,
                           const json::object& after);

}  // namespace berth::sandbox
