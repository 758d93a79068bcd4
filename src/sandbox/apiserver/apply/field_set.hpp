// Sets of object fields: the fields that a field manager owns.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "sandbox/store/document.hpp"

namespace berth::sandbox {

// A tree. Its edges are path elements in the notation of metadata.managedFields: "f:name" is a member,
// "k:{"name":"x"}" an element of a keyed list, "v:"x"" an element of a set. Membership of a path is
// independent of the membership of the paths below it.
struct FieldSet {
  bool member = false;  // the path that leads to this tree node is in the set
  std::map<std::string, FieldSet, std::less<>> below;

  // True if neither this tree node nor any below it is a member. Exact for every subtree of a pruned set.
  bool empty() const { return !member && below.empty(); }
  // Removes branches without members. Returns true if the whole tree is empty.
  bool Prune();

  void Add(const FieldSet& other);
  // The paths that are in both sets.
  FieldSet And(const FieldSet& other) const;
  // The paths that are not in `other`.
  FieldSet Without(const FieldSet& other) const;
  // The paths that are not in `other` and not below one of its paths.
  FieldSet WithoutBelow(const FieldSet& other) const;

  // Adds one path, for example "metadata.labels".
  void AddPath(std::string_view dotted_path);
  // Visits the paths in the notation of messages: .spec.containers[name="c"].image
  void ForEachPath(const std::function<void(const std::string& path)>& visit) const;

  // The notation of metadata.managedFields[].fieldsV1.
  json::value ToJson() const;
  static FieldSet FromJson(const json::object& fields);

  friend bool operator==(const FieldSet&, const FieldSet&) = default;
};

// The notation of one path element in messages: .name, [name="x"], [="x"].
std::string PathElementText(std::string_view element);

}  // namespace berth::sandbox
