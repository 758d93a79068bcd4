#include <fmt/format.h>

#include <algorithm>

#include "sandbox/apiserver/verbs.hpp"
#include "sandbox/store/time_after.hpp"

namespace berth::sandbox {
namespace {

bool IsTerminal(const json::object& pod) {
  const auto phase = FindString(pod, "status.phase");
  return phase == "Succeeded" || phase == "Failed";
}

// The grace period in seconds: 0 for pods that are not bound or have ended.
std::int64_t GraceOf(const json::object& pod, const DeleteOptions& options) {
  if (FindString(pod, "spec.nodeName").empty() || IsTerminal(pod)) return 0;
  std::int64_t grace = 30;
  if (const json::value* own = FindPath(pod, "spec.terminationGracePeriodSeconds");
      own != nullptr && own->is_int64()) {
    grace = own->get_int64();
  }
  grace = options.grace_period_seconds.value_or(grace);
  return grace < 0 ? 1 : grace;
}

void AddFinalizer(json::object& metadata, std::string_view finalizer) {
  auto& list = ArrayAt(metadata, "finalizers");
  if (std::ranges::find(list, json::value(finalizer)) == list.end()) list.push_back(json::value(finalizer));
}

bool HasFinalizers(const json::object& document) {
  const json::array* finalizers = FindArray(document, "metadata.finalizers");
  return finalizers != nullptr && !finalizers->empty();
}

void BumpGeneration(json::object& metadata) {
  const json::value* generation = Find(metadata, "generation");
  if (generation != nullptr && generation->is_int64()) metadata["generation"] = generation->get_int64() + 1;
}

}  // namespace

ApiResult<ObjectPtr> Verbs::Delete(const Place& place, const DeleteOptions& options) {
  const ObjectPtr object = store_.Get(place.type, place.key());
  if (!object) return NotFound(place.type, place.name);
  BERTH_RETURN_IF_ERROR(CheckPreconditions(*object, options));
  if (&place.type == &Known().namespaces &&
      (place.name == "default" || place.name == "kube-system" || place.name == "kube-public")) {
    return Forbidden(place.type, place.name, "this namespace may not be deleted");
  }
  if (&place.type == &Known().pods) {
    const Document pod = object->Parse();
    return DeleteGracefully(*object, GraceOf(pod.root(), options), options);
  }
  return DeleteNow(*object, options);
}

ApiResult<> Verbs::CheckPreconditions(const Object& object, const DeleteOptions& options) const {
  std::string why;
  if (!options.uid.empty() && options.uid != object.uid) {
    why = fmt::format(
        "the UID in the precondition ({}) does not match the UID in record ({}). The object might have "
        "been deleted and then recreated",
        options.uid, object.uid);
  } else if (!options.resource_version.empty() &&
             options.resource_version != fmt::to_string(object.version)) {
    why = fmt::format(
        "the ResourceVersion in the precondition ({}) does not match the ResourceVersion in record ({}). "
        "The object might have been modified",
        options.resource_version, object.version);
  }
  if (why.empty()) return {};
  // Only this message contains the kind instead of the resource.
  auto error = Conflict(*object.type, object.name, why, object.type->kind);
  return error;
}

// A pod with a grace period stays until its kubelet removes it. A pod without one is removed in two writes,
// so that watchers receive the deletion timestamp first.
ApiResult<ObjectPtr> Verbs::DeleteGracefully(const Object& object, std::int64_t grace_seconds,
                                             const DeleteOptions& options) {
  Document document = object.Parse();
  json::object& metadata = ObjectAt(document.root(), "metadata");
  const bool first_time = !metadata.contains("deletionTimestamp");
  const json::value* old_grace = Find(metadata, "deletionGracePeriodSeconds");
  const bool shorter =
      !first_time && old_grace != nullptr && old_grace->is_int64() && grace_seconds < old_grace->get_int64();
  ObjectPtr last = store_.Get(*object.type, object.key);
  if (first_time || shorter) {
    metadata["deletionTimestamp"] = FormatTime(TimeAfter(clock_.WallNow(), grace_seconds));
    metadata["deletionGracePeriodSeconds"] = grace_seconds;
    if (first_time) BumpGeneration(metadata);
    last = Commit(*object.type, document.root(), options.dry_run);
  }
  if (grace_seconds > 0 || HasFinalizers(document.root()) || options.dry_run == DryRun::kYes) return last;
  return store_.Remove(*object.type, object.key);
}

ApiResult<ObjectPtr> Verbs::DeleteNow(const Object& object, const DeleteOptions& options) {
  Document document = object.Parse();
  json::object& metadata = ObjectAt(document.root(), "metadata");
  if (options.propagation == "Foreground") AddFinalizer(metadata, "foregroundDeletion");
  if (options.propagation == "Orphan") AddFinalizer(metadata, "orphan");
  const bool is_namespace = object.type == &Known().namespaces;  // its finalizer is in the spec
  if (!is_namespace && !HasFinalizers(document.root())) {
    if (options.dry_run == DryRun::kYes) return store_.Get(*object.type, object.key);
    return store_.Remove(*object.type, object.key);
  }
  if (metadata.contains("deletionTimestamp")) return store_.Get(*object.type, object.key);
  metadata["deletionTimestamp"] = FormatTime(clock_.WallNow());
  metadata["deletionGracePeriodSeconds"] = 0;
  BumpGeneration(metadata);
  if (is_namespace) ObjectAt(document.root(), "status")["phase"] = "Terminating";
  return Commit(*object.type, document.root(), options.dry_run);
}

}  // namespace berth::sandbox
