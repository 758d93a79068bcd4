#include "sandbox/apiserver/scale.hpp"

namespace berth::sandbox {
namespace {

json::object ScaleOf(const Object& object) {
  const Document document = object.Parse();
  const json::object& root = document.root();
  const auto number = [&](std::string_view path) {
    const json::value* value = FindPath(root, path);
    return value != nullptr && value->is_int64() ? value->get_int64() : 0;
  };
  std::string selector;
  if (const json::object* labels = FindObject(root, "spec.selector.matchLabels")) {
    for (const auto& entry : *labels) {
      selector.append(selector.empty() ? "" : ",").append(entry.key()).append("=");
      if (entry.value().is_string()) selector.append(entry.value().get_string());
    }
  }
  json::object metadata{{"name", object.name},
                        {"namespace", object.ns},
                        {"uid", object.uid},
                        {"resourceVersion", std::to_string(object.version)},
                        {"creationTimestamp", FindString(root, "metadata.creationTimestamp")}};
  return {{"kind", "Scale"},
          {"apiVersion", "autoscaling/v1"},
          {"metadata", std::move(metadata)},
          {"spec", json::object{{"replicas", number("spec.replicas")}}},
          {"status", json::object{{"replicas", number("status.replicas")}, {"selector", selector}}}};
}

}  // namespace

ApiResult<std::string> AnswerScale(Verbs& verbs, const ApiRequest& request, const WriteOptions& options) {
  const ObjectPtr object = verbs.store().Get(*request.type, request.place().key());
  if (!object) return NotFound(*request.type, request.name);
  json::object scale = ScaleOf(*object);
  if (request.method == "GET") return json::serialize(scale) + "\n";
  if (request.method == "PATCH") {
    const auto patch = ParseJson(request.body);
    if (!patch || !patch->is_object()) return BadRequest("error decoding patch: not an object");
    ApplyMergePatch(scale, patch->get_object());
  } else if (request.method == "PUT") {
    BERTH_TRY(const Document body, DecodeBody(request, "autoscaling/v1", "Scale"));
    scale["spec"] = body.root().contains("spec") ? body.root().at("spec") : json::value(json::object());
  } else {
    return MethodNotAllowed();
  }
  const json::value* replicas = FindPath(scale, "spec.replicas");
  if (replicas == nullptr || !replicas->is_int64() || replicas->get_int64() < 0) {
    return InvalidObject(
        "autoscaling", "Scale", request.name,
        {InvalidValue("spec.replicas", replicas != nullptr ? json::serialize(*replicas) : "null",
                      "must be greater than or equal to 0")});
  }
  const auto change = [&](json::object& document) -> ApiResult<> {
    ObjectAt(document, "spec")["replicas"] = *replicas;
    return {};
  };
  BERTH_TRY(const ObjectPtr written, verbs.Edit(request.place(), Part::kMain, change, options));
  return json::serialize(ScaleOf(*written)) + "\n";
}

}  // namespace berth::sandbox
