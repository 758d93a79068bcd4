// A stored object: its text, and the fields that lists and watches use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/message.hpp"
#include "sandbox/store/document.hpp"
#include "sandbox/store/resource.hpp"

namespace berth::sandbox {

// Positions in Object::fields of a pod.
namespace pod_field {
inline constexpr std::size_t kNodeName = 0;
inline constexpr std::size_t kRestartPolicy = 1;
inline constexpr std::size_t kPhase = 5;
inline constexpr std::size_t kPodIp = 6;
}  // namespace pod_field

// A resource version: one counter for the whole store, never reused, 0 before the first write.
using Version = std::uint64_t;

// Immutable; a write creates a new one. Shared by the store, its history and pending responses.
struct Object {
  const ResourceType* type = nullptr;
  std::string key;  // "namespace/name", or "name" for cluster-scoped resources
  std::string name;
  std::string ns;
  std::string uid;
  Version version = 0;
  bool deleting = false;  // metadata.deletionTimestamp is set
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::string> fields;  // values of type->fields, in that order
  std::string text;                 // JSON, beginning with type->text_prefix()

  // The text as a list item, without kind and apiVersion: the part after the item's opening brace.
  std::string_view item_tail() const { return std::string_view(text).substr(type->text_prefix().size()); }
  const std::string* Label(std::string_view label_key) const;
  Document Parse() const;
};
using ObjectPtr = std::shared_ptr<const Object>;

// The text; keeps its object alive.
inline SharedText TextOf(const ObjectPtr& object) { return SharedText(object, &object->text); }

std::string ObjectKey(std::string_view ns, std::string_view name);

// Sets metadata.resourceVersion in `document`, puts kind and apiVersion first, and serialises it. `document`
// must have metadata with a name.
ObjectPtr MakeObject(const ResourceType& type, json::object& document, Version version);

// An object for the response of a dry run, which is not stored. `version` is the version of the stored
// object; empty: there is none.
ObjectPtr MakeUnstored(const ResourceType& type, json::object& document, std::string_view version);

// The value that a field selector compares: booleans and numbers as text, absent fields as "" (or the type's
// zero value where kube-apiserver compares a Go value that is never absent).
std::string FieldValue(const json::object& document, std::string_view path);

// Calls visit(path) for each path of a comma-separated list.
template <class Visit>
void ForEachOf(std::string_view list, Visit&& visit) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    visit(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
}

}  // namespace berth::sandbox
