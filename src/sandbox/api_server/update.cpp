#include <fmt/format.h>

#include "sandbox/api_server/defaults.hpp"
#include "sandbox/api_server/validate.hpp"
#include "sandbox/api_server/verbs.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kChangedMeanwhile =
    "the object has been modified; please apply your changes to the latest version and try again";

// Copies a member, or its absence.
void CopyMember(const json::object& from, json::object& to, std::string_view key) {
  if (const json::value* value = Find(from, key))
    to[key] = *value;
  else
    to.erase(key);
}

// The metadata no client may change.
void RestoreMetadata(const json::object& before, json::object& after) {
  const json::object& old = before.at("metadata").get_object();
  json::object& metadata = ObjectAt(after, "metadata");
  for (const std::string_view key : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
                                     "deletionGracePeriodSeconds", "generation", "generateName"}) {
    CopyMember(old, metadata, key);
  }
  metadata.erase("selfLink");
  metadata.erase("managedFields");
}

// A write to /status: what it says of anything else does not count.
void KeepAllButStatus(const json::object& before, json::object& after) {
  const json::object metadata = ObjectAt(after, "metadata");
  json::value status = after.contains("status") ? after.at("status") : json::value(json::object());
  after = before;
  after["status"] = std::move(status);
  for (const std::string_view key : {"labels", "annotations", "finalizers"}) {
    CopyMember(metadata, ObjectAt(after, "metadata"), key);
  }
}

std::unexpected<ApiError> UidMismatch(const Object& object, std::string_view wanted) {
  return Conflict(
      *object.type, object.name,
      fmt::format("StorageError: invalid object, Code: 4, Key: /registry/{}/{}, ResourceVersion: 0, "
                  "AdditionalErrorMsg: Precondition failed: UID in precondition: {}, UID in object meta: {}",
                  object.type->plural, object.key, wanted, object.uid));
}

}  // namespace

ApiResult<Written> Verbs::Update(const Place& place, Document document, Part part, DryRun dry_run) {
  json::object& root = document.root();
  BERTH_CHECKED(CheckShape(place.type, root));
  DropNulls(root);
  const auto name = FindString(root, "metadata.name");
  const auto ns = FindString(root, "metadata.namespace");
  if (name != place.name) {
    return BadRequest(name.empty()
                          ? "name must be provided"
                          : fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                                        name, place.name));
  }
  if (place.type.namespaced && !ns.empty() && ns != place.ns) {
    return BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  const ObjectPtr current = store_.Get(place.type, place.key());
  const std::string version(FindString(root, "metadata.resourceVersion"));
  if (!current) {
    if (!place.type.needs_version || part == Part::kStatus) return NotFound(place.type, place.name);
    ObjectAt(root, "metadata").erase("resourceVersion");
    BERTH_TRY(ObjectPtr created, Create(place.type, place.ns, std::move(document), dry_run));
    return Written{std::move(created), true};
  }
  const std::string uid(FindString(root, "metadata.uid"));
  if (!uid.empty() && uid != current->uid) return UidMismatch(*current, uid);
  if (version.empty() && place.type.needs_version) {
    auto error =
        InvalidObject(place.type.group, place.type.plural, place.name,
                      {InvalidValue("metadata.resourceVersion", "0", "must be specified for an update")});
    error.error().message = fmt::format(
        "{} \"{}\" is invalid: metadata.resourceVersion: Invalid value: 0: must be "
        "specified for an update",
        place.type.qualified_plural(), place.name);
    return error;
  }
  if (!version.empty() && version != fmt::to_string(current->version)) {
    return Conflict(place.type, place.name, kChangedMeanwhile);
  }
  const Document before = current->Parse();
  BERTH_TRY(ObjectPtr written, Finish(*current, before.root(), root, part, dry_run));
  return Written{std::move(written), false};
}

ApiResult<ObjectPtr> Verbs::Edit(const Place& place, Part part, const Change& change, DryRun dry_run) {
  const ObjectPtr current = store_.Get(place.type, place.key());
  if (!current) return NotFound(place.type, place.name);
  const Document before = current->Parse();
  Document after = current->Parse();
  BERTH_CHECKED(change(after.root()));
  BERTH_CHECKED(CheckShape(place.type, after.root()));
  return Finish(*current, before.root(), after.root(), part, dry_run);
}

ObjectPtr Verbs::Rewrite(const Place& place, std::string_view uid,
                         const std::function<void(json::object& document)>& change) {
  const ObjectPtr current = store_.Get(place.type, place.key());
  if (!current || current->uid != uid) return nullptr;
  Document document = current->Parse();
  change(document.root());
  return store_.Put(place.type, document.root());
}

ApiResult<Written> Verbs::Patch(const Place& place, PatchType type, std::string_view body, Part part,
                                DryRun dry_run) {
  auto patch = ParseJson(body);
  if (!patch)
    return BadRequest(
        fmt::format("error decoding patch: invalid character in JSON: {}", patch.error().message));
  if (type == PatchType::kJson ? !patch->is_array() : !patch->is_object()) {
    return BadRequest("error decoding patch: json: cannot unmarshal a value of another type");
  }
  if (type == PatchType::kApply && !store_.Get(place.type, place.key())) {
    if (part == Part::kStatus) return NotFound(place.type, place.name);
    Document document;
    document.root() = patch->get_object();
    ObjectAt(document.root(), "metadata")["name"] = place.name;
    BERTH_TRY(ObjectPtr created, Create(place.type, place.ns, std::move(document), dry_run));
    return Written{std::move(created), true};
  }
  const auto change = [&](json::object& document) -> ApiResult<> {
    switch (type) {
      case PatchType::kMerge:
        ApplyMergePatch(document, patch->get_object());
        break;
      // Ownership of fields is not tracked: apply merges like a strategic patch and never conflicts.
      case PatchType::kApply:
      case PatchType::kStrategic:
        BERTH_CHECKED(ApplyStrategicPatch(document, patch->get_object()));
        break;
      case PatchType::kJson: {
        json::value value(document, document.storage());
        BERTH_CHECKED(ApplyJsonPatch(value, patch->get_array()));
        if (!value.is_object()) return BadRequest("the patched object is not an object");
        document = value.get_object();
        break;
      }
    }
    return {};
  };
  const ObjectPtr current = store_.Get(place.type, place.key());
  const auto checked = [&](json::object& document) -> ApiResult<> {
    BERTH_CHECKED(change(document));
    if (!current) return {};
    const auto name = FindString(document, "metadata.name");
    const auto uid = FindString(document, "metadata.uid");
    if (name != place.name) {
      return BadRequest(fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                                    name, place.name));
    }
    if (!uid.empty() && uid != current->uid) {
      return InvalidObject(place.type.group, place.type.kind, place.name,
                           {InvalidValue("metadata.uid", fmt::format("\"{}\"", uid), "field is immutable")});
    }
    if (FindString(document, "metadata.resourceVersion") != fmt::to_string(current->version)) {
      return Conflict(place.type, place.name, kChangedMeanwhile);
    }
    return {};
  };
  BERTH_TRY(ObjectPtr written, Edit(place, part, checked, dry_run));
  return Written{std::move(written), false};
}

// From a changed document to a stored one: what may not change is restored, what follows from the change is
// done.
ApiResult<ObjectPtr> Verbs::Finish(const Object& current, const json::object& before, json::object& after,
                                   Part part, DryRun dry_run) {
  const ResourceType& type = *current.type;
  DropNulls(after);
  if (part == Part::kStatus) KeepAllButStatus(before, after);
  if (part == Part::kMain && type.has_status) CopyMember(before, after, "status");
  RestoreMetadata(before, after);
  json::object& metadata = ObjectAt(after, "metadata");
  metadata["resourceVersion"] = before.at("metadata").at("resourceVersion");
  if (&type == &Known().pods && part == Part::kMain) {
    DefaultRequests(ObjectAt(after, "spec"));
    BERTH_CHECKED(ValidatePodUpdate(before, after));
  }
  BERTH_CHECKED(Validate(type, after));
  if (before == after) return store_.Get(type, current.key);
  const json::value* old_spec = Find(before, "spec");
  const json::value* new_spec = Find(after, "spec");
  const bool spec_changed =
      (old_spec == nullptr) != (new_spec == nullptr) || (old_spec != nullptr && *old_spec != *new_spec);
  if (type.tracks_generation && spec_changed) {
    const json::value* generation = Find(metadata, "generation");
    metadata["generation"] =
        (generation != nullptr && generation->is_int64() ? generation->get_int64() : 0) + 1;
  }
  ObjectPtr written = Commit(type, after, dry_run);
  // The write that removes the last finalizer of an object being deleted ends it.
  const json::array* finalizers = FindArray(after, "metadata.finalizers");
  const json::value* grace = Find(metadata, "deletionGracePeriodSeconds");
  const bool due = grace != nullptr && grace->is_int64() && grace->get_int64() == 0;
  if (metadata.contains("deletionTimestamp") && due && (finalizers == nullptr || finalizers->empty()) &&
      &type != &Known().namespaces && dry_run == DryRun::kNo) {
    return store_.Remove(type, current.key);
  }
  return written;
}

}  // namespace berth::sandbox
