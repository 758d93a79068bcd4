// The history of a pod template, as StatefulSets and DaemonSets keep it: ControllerRevisions.
#pragma once

#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

struct Revision {
  ObjectPtr object;
  std::int64_t number = 0;
  json::value data;
  const std::string& name() const { return object->name; }
};

// The owner's, oldest first.
std::vector<Revision> RevisionsOf(ControllerContext& context, const Object& owner);

// {"spec": {"template": ...}} with the template to replace another one: what `kubectl rollout undo` applies.
json::object RevisionData(const json::object& pod_template);

// The revision with that data, which becomes the newest; made if there is none. `hash_label` is what its hash
// is kept under. Nothing if it cannot be made now.
std::optional<Revision> EnsureRevision(ControllerContext& context, const Object& owner,
                                       const json::object& spec, std::string_view hash_label);

// Deletes the oldest beyond the limit, except those in use.
void TruncateHistory(ControllerContext& context, const Object& owner, std::int64_t limit,
                     const std::function<bool(const Revision&)>& in_use);

}  // namespace berth::sandbox
