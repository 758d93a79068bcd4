// Sets of fields of an object: what a field manager owns.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "sandbox/store/document.hpp"

namespace berth::sandbox {

// A tree whose edges are path elements in the notation of metadata.managedFields: "f:name" a member,
// "k:{"name":"x"}" an element of a keyed list, "v:"x"" an element of a set. A path may be in the set without
// what is below it being so, and the other way round.
struct FieldSet {
  bool member = false;  // the path that leads here is in the set
  std::map<std::string, FieldSet, std::less<>> below;

  // Nothing here nor below. Holds for every subtree of a set that has been pruned.
  bool empty() const { return !member && below.empty(); }
  // Removes branches that hold nothing; true if nothing is left.
  bool Prune();

  void Add(const FieldSet& other);
  // The paths that are also in `other`.
  FieldSet And(const FieldSet& other) const;
  // The paths that are not in `other`.
  FieldSet Without(const FieldSet& other) const;
  // The paths that are not in `other` and not below one of its paths.
  FieldSet WithoutBelow(const FieldSet& other) const;

  // "metadata.labels" to a set of that one path.
  void AddPath(std::string_view dotted_path);
  // Visits the paths in the form of messages: .spec.containers[name="c"].image
  void ForEachPath(const std::function<void(const std::string& path)>& visit) const;

  // The form of metadata.managedFields[].fieldsV1.
  json::value ToJson() const;
  static FieldSet FromJson(const json::object& fields);

  friend bool operator==(const FieldSet&, const FieldSet&) = default;
};

// How a message names an element of a path: .name, [name="x"], [="x"].
std::string PathElementText(std::string_view element);

}  // namespace berth::sandbox
