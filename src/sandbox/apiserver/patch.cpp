// Patches and server-side apply.
#include <fmt/format.h>

#include "sandbox/apiserver/validate/validate.hpp"
#include "sandbox/apiserver/verbs.hpp"
#include "sandbox/apiserver/yaml.hpp"

namespace berth::sandbox {
namespace {

std::unexpected<ApiError> Internal(std::string message) {
  ApiError error;
  error.message = std::move(message);
  return std::unexpected(std::move(error));
}

// Decodes and checks the configuration to apply.
ApiResult<Document> ReadConfiguration(const Place& place, std::string_view body) {
  auto document = ParseYamlDocument(body);
  if (!document) return BadRequest(fmt::format("error decoding YAML: {}", document.error().message));
  json::object& root = document->root();
  DropNulls(root);
  const auto version = FindString(root, "apiVersion");
  const auto kind = FindString(root, "kind");
  if (version != place.type.group_version() || kind != place.type.kind) {
    const auto slash = version.find('/');
    const std::string gv =
        slash == std::string_view::npos ? fmt::format("/{}", version) : std::string(version);
    return BadRequest(fmt::format("invalid object type: {}, Kind={}", gv, kind));
  }
  if (FindPath(root, "metadata.managedFields") != nullptr)
    return BadRequest("metadata.managedFields must be nil");
  const auto name = FindString(root, "metadata.name");
  const auto ns = FindString(root, "metadata.namespace");
  if (!name.empty() && name != place.name) {
    return BadRequest(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})", name, place.name));
  }
  if (!ns.empty() && ns != place.ns) {
    return BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  if (const auto wrong = CheckConfiguration(root, place.type.schema)) {
    return Internal(fmt::format("failed to create typed patch object ({}/{}; {}, Kind={}): {}", ns,
                                place.name, place.type.group_version(), kind, *wrong));
  }
  return std::move(*document);
}

std::unexpected<ApiError> BadPatch(std::string_view message, const json::value& patch, PatchType type) {
  const std::string shown = type == PatchType::kStrategic ? GoText(patch) : json::serialize(patch);
  const auto why = message.substr(message.find(": ") + 2);
  return InvalidObject("", "", "", {InvalidValue("patch", json::serialize(json::value(shown)), why)});
}

json::value TakeManagers(json::object& document) {
  json::object& metadata = ObjectAt(document, "metadata");
  json::value taken = metadata.contains("managedFields") ? metadata.at("managedFields") : json::value();
  metadata.erase("managedFields");
  return taken;
}

}  // namespace

ApiResult<Written> Verbs::Apply(const Place& place, std::string_view body, Part part,
                                const WriteOptions& options) {
  BERTH_TRY(Document config, ReadConfiguration(place, body));
  const ObjectPtr current = store_.Get(place.type, place.key());
  if (!current && part == Part::kStatus) return NotFound(place.type, place.name);
  const std::string version(FindString(config.root(), "metadata.resourceVersion"));
  const std::string uid(FindString(config.root(), "metadata.uid"));
  FieldManagers managers;
  Document live = current ? current->Parse() : Document();
  const json::value owned = TakeManagers(live.root());
  managers = DecodeManagers(&owned);
  if (!current) {
    if (!uid.empty())
      return Conflict(
          place.type, place.name,
          fmt::format("uid mismatch: the provided object specified uid {}, and no existing object "
                      "was found",
                      uid));
    live.root() = EmptyObject(place.type.schema);
  } else if (!version.empty() && version != fmt::to_string(current->version)) {
    return Conflict(place.type, place.name, kConcurrentChange);
  }
  BERTH_TRY(const json::object merged,
            ApplyConfiguration(live.root(), config.root(), place.type.schema,
                               WriterOf(place.type, part, options), options.force, managers));
  Document after;
  after.root() = merged;
  if (!current) {
    json::object& metadata = ObjectAt(after.root(), "metadata");
    metadata["name"] = place.name;
    BERTH_TRY(ObjectPtr created, CreateOwned(place.type, place.ns, std::move(after), options, &managers));
    return Written{std::move(created), true};
  }
  BERTH_RETURN_IF_ERROR(CheckShape(place.type, after.root(), options));
  Document before = current->Parse();
  BERTH_TRY(ObjectPtr written, Finish(*current, before.root(), after.root(), part, options, &managers));
  return Written{std::move(written), false};
}

ApiResult<Written> Verbs::Patch(const Place& place, PatchType type, std::string_view body, Part part,
                                const WriteOptions& options) {
  if (type == PatchType::kApply) return Apply(place, body, part, options);
  auto patch = ParseJson(body);
  if (!patch)
    return BadRequest(
        fmt::format("error decoding patch: invalid character in JSON: {}", patch.error().message));
  if (type == PatchType::kJson ? !patch->is_array() : !patch->is_object()) {
    return BadRequest(
        fmt::format("error decoding patch: json: cannot unmarshal {} into Go value of type {}",
                    patch->is_object()   ? "object"
                    : patch->is_array()  ? "array"
                    : patch->is_string() ? "string"
                                         : "number",
                    type == PatchType::kJson ? "[]handlers.jsonPatchOp" : "map[string]interface {}"));
  }
  const auto change = [&](json::object& document) -> ApiResult<> {
    switch (type) {
      case PatchType::kMerge:
        ApplyMergePatch(document, patch->get_object());
        break;
      case PatchType::kApply:
      case PatchType::kStrategic:
        BERTH_RETURN_IF_ERROR(ApplyStrategicPatch(document, patch->get_object()));
        break;
      case PatchType::kJson: {
        json::value value(document, json::storage_ptr());  // not in the arena, which keeps what it drops
        BERTH_RETURN_IF_ERROR(ApplyJsonPatch(value, patch->get_array()));
        if (!value.is_object()) return BadRequest("the patched object is not an object");
        document = value.get_object();
        break;
      }
    }
    return {};
  };
  const ObjectPtr current = store_.Get(place.type, place.key());
  const auto checked = [&](json::object& document) -> ApiResult<> {
    BERTH_RETURN_IF_ERROR(change(document));
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
      return Conflict(place.type, place.name, kConcurrentChange);
    }
    return {};
  };
  auto written = Edit(place, part, checked, options);
  // An invalid result is reported as a bad patch, not as a bad object.
  if (!written && written.error().code == 400 && written.error().message.contains("cannot be handled as"))
    return BadPatch(written.error().message, *patch, type);
  if (!written) return std::unexpected(written.error());
  return Written{std::move(*written), false};
}

}  // namespace berth::sandbox
