// Reads typed fields from a parsed JSON document; private to this module. An error contains the path of the
// field. The path is built while the callers return, so success costs nothing.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubernetes/api/external_groups.hpp"
#include "kubernetes/api/field_path.hpp"
#include "kubernetes/api/objects.hpp"

namespace berth::api::json {

using simdjson::dom::element;
using simdjson::dom::element_type;

// The first error. A reader returns false after it has set one.
class Failure {
 public:
  bool Set(std::string what) {
    what_ = std::move(what);
    return false;
  }
  bool In(std::string_view field) {
    path_.In(field);
    return false;
  }
  bool InItem(std::size_t index) {
    path_.InItem(index);
    return false;
  }
  std::string Text() const { return path_.Before(what_); }

 private:
  FieldPath path_;
  std::string what_;
};

inline std::string_view TypeName(const element& value) {
  switch (value.type()) {
    case element_type::ARRAY:
      return "a list";
    case element_type::OBJECT:
      return "an object";
    case element_type::INT64:
    case element_type::UINT64:
    case element_type::DOUBLE:
      return "a number";
    case element_type::STRING:
      return "a string";
    case element_type::BOOL:
      return "a boolean";
    case element_type::NULL_VALUE:
      return "null";
  }
  return "something else";
}

// The object as JSON in Go's format, see RetainedTexts.
std::string GoText(const element& value, bool managed_fields);

inline bool Expect(const element& value, std::string_view wanted, Failure& failure) {
  return failure.Set("expected " + std::string(wanted) + ", got " + std::string(TypeName(value)));
}

// --- one reader per type; null leaves the default, as in Go ---
inline bool Read(const element& value, std::string& out, Failure& failure) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return Expect(value, "a string", failure);
  out.assign(text);
  return true;
}

inline bool Read(const element& value, Text& out, Failure& failure) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return Expect(value, "a string", failure);
  out = text;
  return true;
}

inline bool Read(const element& value, bool& out, Failure& failure) {
  return value.get(out) == simdjson::SUCCESS || Expect(value, "a boolean", failure);
}

inline bool Read(const element& value, std::int64_t& out, Failure& failure) {
  return value.get(out) == simdjson::SUCCESS || Expect(value, "an integer", failure);
}

inline bool Read(const element& value, std::int32_t& out, Failure& failure) {
  std::int64_t wide = 0;
  if (!Read(value, wide, failure)) return false;
  if (wide < INT32_MIN || wide > INT32_MAX)
    return failure.Set(std::to_string(wide) + " does not fit 32 bits");
  out = static_cast<std::int32_t>(wide);
  return true;
}

// Calls visit(key, value) for every member that is not null.
template <class Visit>
bool ReadObject(const element& value, Failure& failure, Visit&& visit) {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return Expect(value, "an object", failure);
  for (const auto& [key, member] : object) {
    if (member.is_null()) continue;
    if (!visit(key, member)) return failure.In(key);
  }
  return true;
}

// A member and its target: a variable with a reader, or a callable with (element, Failure&).
template <class T>
struct Field {
  std::string_view name;
  T& out;

  bool operator()(const element& member, Failure& failure) const {
    if constexpr (std::is_invocable_v<T&, const element&, Failure&>) {
      return out(member, failure);
    } else {
      return Read(member, out, failure);
    }
  }
};
// The same for a temporary callable.
template <class T>
struct Nested {
  std::string_view name;
  T read;

  bool operator()(const element& member, Failure& failure) const { return read(member, failure); }
};

// Reads an object with these members. Other members, and members that are null, are ignored.
template <class... Fields>
bool ReadFields(const element& value, Failure& failure, const Fields&... fields) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    bool fine = true;
    (void)((key == fields.name ? (fine = fields(member, failure), true) : false) || ...);
    return fine;
  });
}

// Calls visit(item) for every item that is not null.
template <class Visit>
bool ReadItems(const element& value, Failure& failure, Visit&& visit) {
  simdjson::dom::array array;
  if (value.get(array) != simdjson::SUCCESS) return Expect(value, "a list", failure);
  std::size_t index = 0;
  for (const element& item : array) {
    if (!item.is_null() && !visit(item)) return failure.InItem(index);
    ++index;
  }
  return true;
}

template <class T>
bool Read(const element& value, std::vector<T>& out, Failure& failure) {
  simdjson::dom::array array;
  if (value.get(array) != simdjson::SUCCESS) return Expect(value, "a list", failure);
  out.clear();
  out.reserve(array.size());
  std::size_t index = 0;
  for (const element& item : array) {
    T& slot = out.emplace_back();
    if (!item.is_null() && !Read(item, slot, failure)) return failure.InItem(index);
    ++index;
  }
  return true;
}

template <class T>
bool Read(const element& value, std::optional<T>& out, Failure& failure) {
  return Read(value, out.emplace(), failure);
}

template <class T>
bool Read(const element& value, CowPtr<T>& out, Failure& failure) {
  return Read(value, out.emplace(), failure);
}

template <class T>
bool Read(const element& value, CowList<T>& out, Failure& failure) {
  std::vector<T> items;
  const bool fine = Read(value, items, failure);
  out = std::move(items);
  return fine;
}

// --- common parts of objects (decode_meta.cpp) ---
bool Read(const element& value, Labels& out, Failure& failure);
bool Read(const element& value, Quantity& out, Failure& failure);
bool Read(const element& value, ResourceList& out, Failure& failure);
bool Read(const element& value, ObjectMeta& out, Failure& failure);
// Adds the annotations with these keys of a whole object.
bool ReadAnnotationsOf(const element& object, const std::vector<std::string>& keys, ObjectMeta& out,
                       Failure& failure);
bool Read(const element& value, LabelSelector& out, Failure& failure);
bool Read(const element& value, NodeSelectorTerm& out, Failure& failure);
bool Read(const element& value, NodeSelector& out, Failure& failure);
bool Read(const element& value, Taint& out, Failure& failure);

// --- kinds ---
bool Read(const element& value, Pod& out, Failure& failure);
bool Read(const element& value, Node& out, Failure& failure);
bool Read(const element& value, Namespace& out, Failure& failure);
bool Read(const element& value, PersistentVolume& out, Failure& failure);
bool Read(const element& value, PersistentVolumeClaim& out, Failure& failure);
bool Read(const element& value, StorageClass& out, Failure& failure);
bool Read(const element& value, CSINode& out, Failure& failure);
bool Read(const element& value, CSIDriver& out, Failure& failure);
bool Read(const element& value, CSIStorageCapacity& out, Failure& failure);
bool Read(const element& value, VolumeAttachment& out, Failure& failure);
bool Read(const element& value, Service& out, Failure& failure);
bool Read(const element& value, ReplicationController& out, Failure& failure);
bool Read(const element& value, ReplicaSet& out, Failure& failure);
bool Read(const element& value, StatefulSet& out, Failure& failure);
bool Read(const element& value, PodDisruptionBudget& out, Failure& failure);
bool Read(const element& value, DeviceClass& out, Failure& failure);
bool Read(const element& value, ResourceClaim& out, Failure& failure);
bool Read(const element& value, ResourceSlice& out, Failure& failure);
bool Read(const element& value, DeviceTaintRule& out, Failure& failure);
bool Read(const element& value, PodResourceClaim& out, Failure& failure);
bool Read(const element& value, PodResourceClaimStatus& out, Failure& failure);
bool Read(const element& value, PodGroup& out, Failure& failure);
bool Read(const element& value, CompositePodGroup& out, Failure& failure);
bool Read(const element& value, ElasticQuota& out, Failure& failure);
bool Read(const element& value, NodeResourceTopology& out, Failure& failure);
bool Read(const element& value, PriorityClass& out, Failure& failure);
bool Read(const element& value, CoschedulingPodGroup& out, Failure& failure);
bool Read(const element& value, VolcanoPodGroup& out, Failure& failure);
bool Read(const element& value, Job& out, Failure& failure);

}  // namespace berth::api::json
