#include "sandbox/store/object.hpp"

#include <fmt/format.h>

namespace berth::sandbox {
namespace {

std::vector<std::pair<std::string, std::string>> LabelsOf(const json::object& document) {
  std::vector<std::pair<std::string, std::string>> labels;
  const json::object* map = FindObject(document, "metadata.labels");
  if (map == nullptr) return labels;
  labels.reserve(map->size());
  for (const auto& entry : *map) {
    if (entry.value().is_string()) labels.emplace_back(entry.key(), entry.value().get_string());
  }
  return labels;
}

// Written member by member: kind and apiVersion come first, regardless of the document's order.
std::string TextOf(const ResourceType& type, const json::object& document) {
  std::string text;
  text.reserve(2048);
  text += type.text_prefix();
  json::serializer serializer;
  char buffer[4096];
  bool first = true;
  const auto append = [&](const auto* value) {
    serializer.reset(value);
    while (!serializer.done()) text += std::string_view(serializer.read(buffer));
  };
  for (const auto& entry : document) {
    if (entry.key() == "kind" || entry.key() == "apiVersion") continue;
    if (!first) text += ',';
    first = false;
    const json::string key(entry.key());
    append(&key);
    text += ':';
    append(&entry.value());
  }
  text += '}';
  return text;
}

}  // namespace

const std::string* Object::Label(std::string_view label_key) const {
  for (const auto& [key, value] : labels) {
    if (key == label_key) return &value;
  }
  return nullptr;
}

Document Object::Parse() const { return *Document::Parse(text, kMaxStoredNesting); }

std::string ObjectKey(std::string_view ns, std::string_view name) {
  std::string key;
  key.reserve(ns.size() + name.size() + 1);
  if (!ns.empty()) key.append(ns).append("/");
  return key.append(name);
}

ObjectPtr MakeObject(const ResourceType& type, json::object& document, Version version) {
  auto object = std::make_shared<Object>();
  ObjectAt(document, "metadata")["resourceVersion"] = fmt::to_string(version);
  object->type = &type;
  object->name = FindString(document, "metadata.name");
  object->ns = FindString(document, "metadata.namespace");
  object->key = ObjectKey(object->ns, object->name);
  object->uid = FindString(document, "metadata.uid");
  object->version = version;
  object->deleting = !FindString(document, "metadata.deletionTimestamp").empty();
  object->labels = LabelsOf(document);
  ForEachOf(type.fields,
            [&](std::string_view path) { object->fields.push_back(FieldValue(document, path)); });
  object->text = TextOf(type, document);
  object->text.shrink_to_fit();  // it is stored for long
  return object;
}

ObjectPtr MakeUnstored(const ResourceType& type, json::object& document, std::string_view version) {
  const std::string kept(version);
  auto object = std::make_shared<Object>(*MakeObject(type, document, 0));
  json::object& metadata = ObjectAt(document, "metadata");
  if (kept.empty())
    metadata.erase("resourceVersion");
  else
    metadata["resourceVersion"] = kept;
  object->text = TextOf(type, document);
  return object;
}

std::string FieldValue(const json::object& document, std::string_view path) {
  if (path == "source") {  // of an event, in the fields of either API group
    const auto component = FindString(document, "source.component");
    return std::string(component.empty() ? FindString(document, "reportingComponent") : component);
  }
  const json::value* value = FindPath(document, path);
  if (value == nullptr || value->is_null()) {
    if (path == "spec.unschedulable" || path == "spec.hostNetwork") return "false";
    if (path == "status.replicas" || path == "status.successful") return "0";
    return {};
  }
  if (value->is_string()) return std::string(value->get_string());
  if (path == "status.podIPs") {
    std::string ips;
    for (const auto& ip : value->is_array() ? value->get_array() : json::array()) {
      if (!ip.is_object()) continue;
      ips.append(ips.empty() ? "" : ",").append(FindString(ip.get_object(), "ip"));
    }
    return ips;
  }
  return json::serialize(*value);
}

}  // namespace berth::sandbox
