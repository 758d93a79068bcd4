// A JSON document for editing: the parsed form of an object between two stored texts.
#pragma once

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth::sandbox {

namespace json = boost::json;

// The nesting of lists and objects that clients may send (JSONSchemaProps nest deeper than Boost's 32), and
// the nesting of stored texts: the owned fields of metadata.managedFields are deeper than the object.
inline constexpr std::size_t kMaxNesting = 256;
inline constexpr std::size_t kMaxStoredNesting = 2 * kMaxNesting;

// Owns an arena; the whole tree is freed at once. Therefore parsing an object for each write is cheaper than
// keeping trees (a pod's tree takes five times the memory of its text). Assignment copies values from
// elsewhere into the arena.
class Document {
 public:
  Document();
  // The text must be one JSON object. Errors state problem and position in Go's style.
  static Expected<Document> Parse(std::string_view text, std::size_t max_nesting = kMaxNesting);

  json::object& root() { return *root_; }
  const json::object& root() const { return *root_; }

 private:
  std::unique_ptr<json::monotonic_resource> arena_;
  json::object* root_;  // in the arena
};

// Any JSON value, for bodies that need not be objects (JSON patches).
Expected<json::value> ParseJson(std::string_view text);

// True if more than that many lists and objects contain each other. Deeper levels are not read.
bool IsNestedDeeper(const json::value& value, std::size_t levels);

// --- reading by path; absent, null and wrong types all count as absent ---

const json::value* Find(const json::object& object, std::string_view key);
// "spec.nodeName"; the keys themselves must not contain dots.
const json::value* FindPath(const json::object& object, std::string_view dotted_path);
const json::object* FindObject(const json::object& object, std::string_view dotted_path);
const json::array* FindArray(const json::object& object, std::string_view dotted_path);
std::string_view FindString(const json::object& object, std::string_view dotted_path);

// --- writing ---

// The object under that key; created, or put in place of a value of another type.
json::object& ObjectAt(json::object& parent, std::string_view key);
json::array& ArrayAt(json::object& parent, std::string_view key);
// Copies a member; removes it from `to` if `from` has none.
void CopyMember(const json::object& from, json::object& to, std::string_view key);
// Removes null members recursively: in typed objects null and absent are equivalent.
void DropNulls(json::value& value);
void DropNulls(json::object& object);

}  // namespace berth::sandbox
