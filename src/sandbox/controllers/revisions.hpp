// The history of a pod template of StatefulSets and DaemonSets: ControllerRevisions.
#pragma once

#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

// The label of pods that names the revision of their template.
inline constexpr std::string_view kRevisionHash = "controller-revision-hash";

struct Revision {
  ObjectPtr object;
  std::int64_t number = 0;
  json::value data;
  const std::string& name() const { return object->name; }
};

// The owner's revisions, oldest first.
std::vector<Revision> RevisionsOf(ControllerContext& context, const Object& owner);

// {"spec": {"template": ...}} with the directive to replace the template: the patch of `kubectl rollout
// undo`.
json::object RevisionData(const json::object& pod_template);

// Returns the revision with that data and makes it the newest; creates it if there is none. `hash_label` is
// the label for its hash. nullopt if it cannot be created now.
std::optional<Revision> EnsureRevision(ControllerContext& context, const Object& owner,
                                       const json::object& spec, std::string_view hash_label);

// Deletes the oldest beyond the limit, except those in use.
void TruncateHistory(ControllerContext& context, const Object& owner, std::int64_t limit,
                     const std::function<bool(const Revision&)>& in_use);

}  // namespace berth::sandbox
