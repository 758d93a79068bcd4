#include <fmt/format.h>

#include "base/seeded_hash.hpp"
#include "sandbox/apiserver/defaults/defaults.hpp"
#include "sandbox/apiserver/validate/validate.hpp"
#include "sandbox/apiserver/verbs.hpp"

namespace berth::sandbox {

ApiResult<ObjectPtr> Verbs::Create(const ResourceType& type, std::string_view ns, Document document,
                                   const WriteOptions& options) {
  return CreateOwned(type, ns, std::move(document), options, nullptr);
}

ApiResult<ObjectPtr> Verbs::CreateOwned(const ResourceType& type, std::string_view ns, Document document,
                                        const WriteOptions& options, FieldManagers* applied) {
  json::object& root = document.root();
  BERTH_RETURN_IF_ERROR(CheckShape(type, root, options));
  DropNulls(root);
  if (!FindString(root, "metadata.resourceVersion").empty()) {
    ApiError error;
    error.message = "resourceVersion should not be set on objects to be created";
    return std::unexpected(std::move(error));
  }
  BERTH_TRY(const Place place, PlaceFor(type, ns, root));
  BERTH_RETURN_IF_ERROR(CheckNamespace(place));
  StampNew(place, root);
  DefaultObject(type, root, clock_.WallNow());
  if (type.schema != nullptr) Normalize(root, *type.schema);
  FieldManagers managers;
  if (applied != nullptr) {
    managers = std::move(*applied);
  } else if (!options.manager.empty()) {
    TrackUpdate(EmptyObject(type.schema), root, type.schema, WriterOf(type, Part::kMain, options), managers);
  }
  BERTH_RETURN_IF_ERROR(AdmitNew(store_, clock_.WallNow(), type, root));
  if (type.schema != nullptr) Normalize(root, *type.schema);
  BERTH_RETURN_IF_ERROR(Validate(type, root, nullptr));
  if (store_.Get(type, place.key())) return AlreadyExists(type, place.name);
  if (!managers.empty()) ObjectAt(root, "metadata")["managedFields"] = EncodeManagers(std::move(managers));
  return Commit(type, root, options.dry_run);
}

FieldWriter Verbs::WriterOf(const ResourceType& type, Part part, const WriteOptions& options) const {
  FieldWriter writer{.manager = options.manager,
                     .api_version = std::string(type.group_version()),
                     .subresource = options.subresource,
                     .now = FormatTime(clock_.WallNow()),
                     .ignored = {}};
  if (type.has_status) writer.ignored.AddPath(part == Part::kStatus ? "spec" : "status");
  return writer;
}

// Determines namespace and name.
ApiResult<Place> Verbs::PlaceFor(const ResourceType& type, std::string_view ns,
                                 const json::object& document) {
  Place place{type, type.namespaced ? std::string(ns) : "",
              std::string(FindString(document, "metadata.name"))};
  const auto body_ns = FindString(document, "metadata.namespace");
  if (type.namespaced && !body_ns.empty() && body_ns != ns) {
    return BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  if (!place.name.empty()) return place;
  const std::string base(FindString(document, "metadata.generateName").substr(0, 58));
  if (base.empty()) {
    return InvalidObject(type.group, type.kind, "",
                         {Required("metadata.name", "name or generateName is required")});
  }
  constexpr int kTries = 8;  // as in kube-apiserver, which then reports a conflict
  for (int i = 0; i < kTries; ++i) {
    place.name = base + RandomSuffix();
    if (!store_.Get(type, place.key())) break;
  }
  return place;
}

ApiResult<> Verbs::CheckNamespace(const Place& place) const {
  if (!place.type.namespaced) return {};
  const ObjectPtr ns = store_.Get(Known().namespaces, place.ns);
  if (!ns) return NotFound(Known().namespaces, place.ns);
  if (ns->fields[0] != "Terminating") return {};  // status.phase
  return Forbidden(
      place.type, place.name,
      fmt::format("unable to create new content in namespace {} because it is being terminated", place.ns),
      {{"NamespaceTerminating", fmt::format("namespace {} is being terminated", place.ns),
        "metadata.namespace"}});
}

// Sets the server's metadata, in the order in which kube-apiserver prints it.
void Verbs::StampNew(const Place& place, json::object& document) {
  const json::object given = ObjectAt(document, "metadata");
  json::object& metadata = document["metadata"].emplace_object();
  metadata["name"] = place.name;
  const auto keep = [&](std::string_view key) {
    if (const json::value* value = Find(given, key)) metadata[key] = *value;
  };
  keep("generateName");
  if (!place.ns.empty()) metadata["namespace"] = place.ns;
  metadata["uid"] = RandomUid();
  metadata["resourceVersion"] = "";  // keeps its place in the order
  if (place.type.tracks_generation) metadata["generation"] = 1;
  metadata["creationTimestamp"] = FormatTime(clock_.WallNow());
  for (const std::string_view key : {"labels", "annotations", "ownerReferences", "finalizers"}) keep(key);
}

ObjectPtr Verbs::Commit(const ResourceType& type, json::object& document, DryRun dry_run) {
  if (dry_run == DryRun::kYes) {
    json::object& metadata = ObjectAt(document, "metadata");
    const auto version = FindString(metadata, "resourceVersion");
    return MakeUnstored(type, document, version);
  }
  return store_.Put(type, document);
}

void Verbs::MixIntoRandom(std::string_view text) { random_ = Random(HashWithSeed(random_.Next(), text)); }

std::string Verbs::RandomSuffix() {
  static constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";  // no vowels, so no words
  std::string suffix;
  for (int i = 0; i < 5; ++i) suffix += kLetters[random_.Below(kLetters.size())];
  return suffix;
}

std::string Verbs::RandomUid() {
  const std::uint64_t high = random_.Next();
  const std::uint64_t low = random_.Next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff, high & 0xfff,
                     ((low >> 48) & 0x3fff) | 0x8000, low & 0xffffffffffff);
}

}  // namespace berth::sandbox
