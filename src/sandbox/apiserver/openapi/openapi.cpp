#include "sandbox/apiserver/openapi/openapi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "sandbox/apiserver/patch/patch.hpp"
#include "sandbox/store/schema/schema.hpp"

namespace berth::sandbox {
namespace {

using Many = SchemaField::Many;

constexpr std::array<std::string_view, 9> kMeta{"ObjectMeta",     "LabelSelector", "LabelSelectorRequirement",
                                                "OwnerReference", "ListMeta",      "Condition",
                                                "DeleteOptions",  "Preconditions", "Status"};
constexpr std::string_view kRef = "#/components/schemas/";
constexpr std::string_view kMetaPrefix = "io.k8s.apimachinery.pkg.apis.meta.v1.";

class Schemas {
 public:
  explicit Schemas(std::string_view group)
      : group_(group.empty() ? "core" : group.substr(0, group.find('.'))) {}

  void Add(const SchemaMessage& message) {
    if (!seen_.insert(&message).second) return;
    json::object properties;
    json::array required;
    Collect(message, message.name, properties);
    json::object schema{{"type", "object"}, {"properties", std::move(properties)}};
    if (message.atomic) schema["x-kubernetes-map-type"] = "atomic";
    all_[NameOf(message)] = std::move(schema);
  }
  // Adds the group, version and kind to the schema of a kind.
  void AddKind(const SchemaMessage& message, json::object kind) {
    Add(message);
    json::object& schema = all_.at(NameOf(message)).get_object();
    json::object& properties = schema.at("properties").get_object();
    properties["apiVersion"] = json::object{{"type", "string"}};
    properties["kind"] = json::object{{"type", "string"}};
    ArrayAt(schema, "x-kubernetes-group-version-kind").push_back(std::move(kind));
  }
  std::string NameOf(const SchemaMessage& message) const {
    const auto name = message.name.substr(message.name.find('.') + 1);
    if (std::ranges::find(kMeta, name) != kMeta.end()) return fmt::format("{}{}", kMetaPrefix, name);
    return fmt::format("io.k8s.api.{}.v1.{}", message.in_core_text ? "core" : group_, name);
  }
  json::object Take() {
    all_["io.k8s.apimachinery.pkg.api.resource.Quantity"] = json::object{{"type", "string"}};
    all_["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] =
        json::object{{"type", "string"}, {"format", "int-or-string"}};
    for (const std::string_view name : {"Time", "MicroTime"})
      all_[fmt::format("{}{}", kMetaPrefix, name)] =
          json::object{{"type", "string"}, {"format", "date-time"}};
    return std::move(all_);
  }

 private:
  static json::object Ref(std::string_view name) {
    return {{"allOf", json::array{json::object{{"$ref", fmt::format("{}{}", kRef, name)}}}}};
  }

  json::object One(const SchemaField& field) {
    switch (field.type) {
      case 's':
      case 'D':
        return {{"type", "string"}};
      case 'B':
        return {{"type", "string"}, {"format", "byte"}};
      case 'i':
        return {{"type", "integer"}, {"format", "int32"}};
      case 'l':
        return {{"type", "integer"}, {"format", "int64"}};
      case 'b':
        return {{"type", "boolean"}};
      case 'd':
        return {{"type", "number"}, {"format", "double"}};
      case 't':
        return Ref(fmt::format("{}Time", kMetaPrefix));
      case 'T':
        return Ref(fmt::format("{}MicroTime", kMetaPrefix));
      case 'q':
        return Ref("io.k8s.apimachinery.pkg.api.resource.Quantity");
      case 'I':
        return Ref("io.k8s.apimachinery.pkg.util.intstr.IntOrString");
      case 'm':
        Add(*field.message);
        return Ref(NameOf(*field.message));
      default:
        return {{"type", "object"}};
    }
  }

  json::object List(const SchemaField& field, std::string_view message_name) {
    json::object schema{{"type", "array"}, {"items", One(field)}};
    if (field.list_type == SchemaField::ListType::kMap) {
      json::array keys;
      for (const auto key : field.keys) keys.push_back(json::value(key));
      schema["x-kubernetes-list-type"] = "map";
      schema["x-kubernetes-list-map-keys"] = std::move(keys);
    } else {
      schema["x-kubernetes-list-type"] = field.list_type == SchemaField::ListType::kSet ? "set" : "atomic";
    }
    const bool container = message_name == "Container" || message_name == "EphemeralContainerCommon";
    if (const auto key = PatchMergeKey(field.name, container)) {
      schema["x-kubernetes-patch-strategy"] =
          field.name == "volumes" || field.name == "resourceClaims" ? "merge,retainKeys" : "merge";
      if (!key->empty()) schema["x-kubernetes-patch-merge-key"] = *key;
    }
    return schema;
  }

  void Collect(const SchemaMessage& message, std::string_view name, json::object& properties) {
    for (const auto& field : message.fields) {
      if (field.inlined) {
        Collect(*field.message, name, properties);
      } else if (field.many == Many::kList) {
        properties[field.name] = List(field, message.name);
      } else if (field.many == Many::kMap) {
        properties[field.name] = json::object{{"type", "object"}, {"additionalProperties", One(field)}};
      } else {
        properties[field.name] = One(field);
      }
    }
  }

  std::string group_;
  std::set<const SchemaMessage*> seen_;
  json::object all_;
};

json::object Operation(std::string_view verb, const ResourceType& type, const json::object& kind) {
  json::object operation{{"operationId", fmt::format("{}{}", verb, type.kind)},
                         {"responses", json::object{{"200", json::object{{"description", "OK"}}}}},
                         {"x-kubernetes-group-version-kind", kind}};
  if (verb == "get" || verb == "delete") return operation;
  json::array parameters;
  for (const std::string_view name : {"dryRun", "fieldManager", "fieldValidation"}) {
    parameters.push_back(
        json::object{{"name", name}, {"in", "query"}, {"schema", json::object{{"type", "string"}}}});
  }
  operation["parameters"] = std::move(parameters);
  return operation;
}

}  // namespace

json::object OpenApiDocument(std::string_view group, std::string_view version,
                             const std::vector<const ResourceType*>& types) {
  json::object paths;
  Schemas schemas(group);
  for (const ResourceType* type : types) {
    const json::object kind{{"group", group}, {"version", version}, {"kind", type->kind}};
    const std::string base =
        group.empty() ? fmt::format("/api/{}", version) : fmt::format("/apis/{}/{}", group, version);
    const std::string path =
        fmt::format("{}{}/{}", base, type->namespaced ? "/namespaces/{namespace}" : "", type->plural);
    paths[path] =
        json::object{{"get", Operation("get", *type, kind)}, {"post", Operation("post", *type, kind)}};
    paths[path + "/{name}"] = json::object{{"get", Operation("get", *type, kind)},
                                           {"put", Operation("put", *type, kind)},
                                           {"patch", Operation("patch", *type, kind)},
                                           {"delete", Operation("delete", *type, kind)}};
    const SchemaMessage* schema = FindSchema(group, type->kind);
    if (schema != nullptr) schemas.AddKind(*schema, kind);
  }
  return {{"openapi", "3.0.0"},
          {"info", json::object{{"title", "Berth sandbox"}, {"version", "v1.37.1"}}},
          {"paths", std::move(paths)},
          {"components", json::object{{"schemas", schemas.Take()}}}};
}

}  // namespace berth::sandbox
