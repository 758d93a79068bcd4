// The three patch formats (RFC 7386, RFC 6902, strategic merge patch), and server-side apply.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sandbox/apiserver/status.hpp"
#include "sandbox/store/document.hpp"

namespace berth::sandbox {

enum class PatchType { kMerge, kJson, kStrategic, kApply };

// From the media type of the request, without parameters.
std::optional<PatchType> PatchTypeOf(std::string_view content_type);

// RFC 7386: null deletes, objects merge, everything else is replaced.
void ApplyMergePatch(json::object& target, const json::object& patch);

// RFC 6902. Not atomic: the caller must discard `target` after an error. 422 if the target would become
// nested deeper than kMaxNesting, or if the copies together exceed 3 MB.
ApiResult<> ApplyJsonPatch(json::value& target, const json::array& operations);

// Strategic merge patch: like a merge patch, but lists that Kubernetes declares as merged are merged by their
// key, and the directives $patch, $retainKeys, $setElementOrder/<list> and $deleteFromPrimitiveList/<list>
// are applied. The merged lists follow the struct tags of v1.37 for the kinds that schedulers and kubectl
// patch.
ApiResult<> ApplyStrategicPatch(json::object& target, const json::object& patch);

// The merge key of a strategic patch for a list of that name: empty for sets of plain values, nullopt for
// lists that are replaced.
std::optional<std::string_view> PatchMergeKey(std::string_view list, bool in_container);

// A value in the format of Go's %v: map[a:1 b:[x y]].
std::string GoText(const json::value& value);

}  // namespace berth::sandbox
