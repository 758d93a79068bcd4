#include <fmt/format.h>

#include <algorithm>

#include "sandbox/apiserver/defaults/defaults.hpp"
#include "sandbox/apiserver/validate/validate.hpp"
#include "sandbox/apiserver/verbs.hpp"

namespace berth::sandbox {
namespace {

// Restores the metadata that clients cannot change.
void RestoreMetadata(const json::object& before, json::object& after) {
  const json::object& old = before.at("metadata").get_object();
  json::object& metadata = ObjectAt(after, "metadata");
  for (const std::string_view key : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
                                     "deletionGracePeriodSeconds", "generation", "generateName"}) {
    CopyMember(old, metadata, key);
  }
  metadata.erase("selfLink");
}

json::value TakeManagedFields(json::object& document) {
  json::object& metadata = ObjectAt(document, "metadata");
  json::value* there = metadata.if_contains("managedFields");
  if (there == nullptr) return nullptr;
  json::value taken = std::move(*there);
  metadata.erase("managedFields");
  return taken;
}

// A client may set managedFields; [] and [{}] clear all ownership.
bool IsReset(const json::value& managed) {
  const json::array* list = managed.if_array();
  if (list == nullptr) return false;
  return list->empty() || (list->size() == 1 && (*list)[0].is_object() && (*list)[0].get_object().empty());
}

// A write to /status changes the status only; for most kinds also labels, annotations and finalizers.
void KeepAllButStatus(const ResourceType& type, const json::object& before, json::object& after) {
  const json::object metadata = ObjectAt(after, "metadata");
  json::value status = after.contains("status") ? after.at("status") : json::value(json::object());
  after = before;
  after["status"] = std::move(status);
  if (type.group == "resource.k8s.io") return;
  for (const std::string_view key : {"labels", "annotations", "finalizers"}) {
    CopyMember(metadata, ObjectAt(after, "metadata"), key);
  }
}

// A version that is not a number is a bad request, not a conflict.
ApiResult<> CheckVersionText(std::string_view version) {
  if (version.find_first_not_of("0123456789") == std::string_view::npos) return {};
  ApiError error;
  error.message = fmt::format("strconv.ParseUint: parsing \"{}\": invalid syntax", version);
  return std::unexpected(std::move(error));
}

// Compares without times: a new time alone is no reason for a write.
bool SameOwners(const json::value& after, const json::value& before) {
  if (after == before) return true;
  FieldManagers left = DecodeManagers(&after), right = DecodeManagers(&before);
  if (left.size() != right.size()) return false;
  const auto same = [&](const FieldManager& manager) {
    return std::ranges::any_of(
        right, [&](const auto& other) { return other.SameAs(manager) && other.fields == manager.fields; });
  };
  return std::ranges::all_of(left, same);
}

std::unexpected<ApiError> UidMismatch(const Object& object, std::string_view wanted) {
  return Conflict(
      *object.type, object.name,
      fmt::format("StorageError: invalid object, Code: 4, Key: /registry/{}/{}, ResourceVersion: 0, "
                  "AdditionalErrorMsg: Precondition failed: UID in precondition: {}, UID in object meta: {}",
                  object.type->plural, object.key, wanted, object.uid));
}

}  // namespace

ApiResult<Written> Verbs::Update(const Place& place, Document document, Part part,
                                 const WriteOptions& options) {
  json::object& root = document.root();
  BERTH_RETURN_IF_ERROR(CheckShape(place.type, root, options));
  DropNulls(root);
  const auto name = FindString(root, "metadata.name");
  const auto ns = FindString(root, "metadata.namespace");
  if (name != place.name) {
    return BadRequest(name.empty()
                          ? fmt::format("the name of the object ({} based on URL) was undeterminable: name "
                                        "must be provided",
                                        place.name)
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
    BERTH_TRY(ObjectPtr created, Create(place.type, place.ns, std::move(document), options));
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
  BERTH_RETURN_IF_ERROR(CheckVersionText(version));
  if (!version.empty() && version != fmt::to_string(current->version)) {
    return Conflict(place.type, place.name, kConcurrentChange);
  }
  Document before = current->Parse();
  BERTH_TRY(ObjectPtr written, Finish(*current, before.root(), root, part, options));
  return Written{std::move(written), false};
}

ApiResult<ObjectPtr> Verbs::Edit(const Place& place, Part part, const Change& change,
                                 const WriteOptions& options) {
  const ObjectPtr current = store_.Get(place.type, place.key());
  if (!current) return NotFound(place.type, place.name);
  Document before = current->Parse();
  Document after = current->Parse();
  BERTH_RETURN_IF_ERROR(change(after.root()));
  BERTH_RETURN_IF_ERROR(CheckShape(place.type, after.root(), options));
  return Finish(*current, before.root(), after.root(), part, options);
}

ObjectPtr Verbs::Rewrite(const Place& place, std::string_view uid,
                         const std::function<void(json::object& document)>& change) {
  const ObjectPtr current = store_.Get(place.type, place.key());
  if (!current || current->uid != uid) return nullptr;
  Document document = current->Parse();
  change(document.root());
  return store_.Put(place.type, document.root());
}

// Completes a changed document and stores it: restores immutable fields and applies the consequences of the
// change.
ApiResult<ObjectPtr> Verbs::Finish(const Object& current, json::object& before, json::object& after,
                                   Part part, const WriteOptions& options, FieldManagers* applied) {
  const ResourceType& type = *current.type;
  DropNulls(after);
  const json::value owned_before = TakeManagedFields(before);
  const json::value owned_given = TakeManagedFields(after);
  if (part == Part::kStatus) KeepAllButStatus(type, before, after);
  if (part == Part::kMain && type.has_status) CopyMember(before, after, "status");
  RestoreMetadata(before, after);
  json::object& metadata = ObjectAt(after, "metadata");
  metadata["resourceVersion"] = before.at("metadata").at("resourceVersion");
  if (part == Part::kMain) DefaultObject(type, after, clock_.WallNow());
  PrepareUpdate(type, part, before, after, clock_.WallNow());
  if (type.schema != nullptr) {
    Normalize(before, *type.schema);
    Normalize(after, *type.schema);
  }
  auto changed = ValidateChange(type, part, before, after);
  if (auto valid = Validate(type, after, &before); !valid) {
    std::vector<ErrorCause> causes = std::move(valid.error().causes);
    if (!changed) causes.insert(causes.end(), changed.error().causes.begin(), changed.error().causes.end());
    return InvalidObject(type.group, type.kind, current.name, std::move(causes));
  }
  BERTH_RETURN_IF_ERROR(std::move(changed));
  BERTH_RETURN_IF_ERROR(AdmitChange(store_, type, part, before, after));
  json::value owned_after = owned_before;
  if (applied != nullptr) {
    owned_after = EncodeManagers(std::move(*applied));
  } else if (!options.manager.empty()) {
    const bool given = part == Part::kMain && options.subresource.empty();
    FieldManagers managers;
    if (!given || !IsReset(owned_given)) {
      if (given) managers = DecodeManagers(&owned_given);
      if (managers.empty()) managers = DecodeManagers(&owned_before);
      // Objects without any manager stay unmanaged until the first apply.
      if (!managers.empty()) TrackUpdate(before, after, type.schema, WriterOf(type, part, options), managers);
    }
    owned_after = managers.empty() ? json::value() : json::value(EncodeManagers(std::move(managers)));
  }
  if (before == after && SameOwners(owned_after, owned_before)) return store_.Get(type, current.key);
  const json::value* old_spec = Find(before, "spec");
  const json::value* new_spec = Find(after, "spec");
  const bool spec_changed =
      (old_spec == nullptr) != (new_spec == nullptr) || (old_spec != nullptr && *old_spec != *new_spec);
  if (type.tracks_generation && spec_changed) {
    const json::value* generation = Find(metadata, "generation");
    metadata["generation"] =
        (generation != nullptr && generation->is_int64() ? generation->get_int64() : 0) + 1;
  }
  if (!owned_after.is_null()) metadata["managedFields"] = std::move(owned_after);
  ObjectPtr written = Commit(type, after, options.dry_run);
  // The write that removes the last finalizer of an object under deletion removes the object.
  const json::array* finalizers = FindArray(after, "metadata.finalizers");
  const json::value* grace = Find(metadata, "deletionGracePeriodSeconds");
  const bool due = grace != nullptr && grace->is_int64() && grace->get_int64() == 0;
  if (metadata.contains("deletionTimestamp") && due && (finalizers == nullptr || finalizers->empty()) &&
      &type != &Known().namespaces && options.dry_run == DryRun::kNo) {
    return store_.Remove(type, current.key);
  }
  return written;
}

}  // namespace berth::sandbox
