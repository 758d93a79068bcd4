// Refusing what is not an object of its kind (400) or not a valid one (422).
#pragma once

#include <string>
#include <vector>

#include "sandbox/apiserver/verbs.hpp"
#include "sandbox/store/document.hpp"

namespace berth::sandbox {

// The types of all fields (see schema/). Quantities written as numbers become strings, as a typed API server
// would write them back. Fields that the kind does not have are dropped, reported or refused (400), as the
// options say.
ApiResult<> CheckShape(const ResourceType& type, json::object& document, const WriteOptions& options);

// Names, labels, and the rules of pods and their like that keep nonsense from a scheduler. Not the whole of
// Kubernetes' validation.
ApiResult<> Validate(const ResourceType& type, const json::object& document);

// What may not change: most of a pod's spec, selectors, what is called immutable, finalizers of what is being
// deleted. Both documents are normalized.
ApiResult<> ValidateChange(const ResourceType& type, Part part, const json::object& before,
                           const json::object& after);

}  // namespace berth::sandbox
