// A JSON document being edited: what an object is between two of its stored texts.
#pragma once

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth::sandbox {

namespace json = boost::json;

// Owns an arena: everything in the tree is freed at once, which is what makes parsing an object for each
// write cheaper than keeping trees around (a pod's tree takes five times the memory of its text). Values
// taken from elsewhere are copied into the arena by assignment.
class Document {
 public:
  Document();
  // The text must be one JSON object. The error is Go's style of message: what and where.
  static Expected<Document> Parse(std::string_view text);

  json::object& root() { return *root_; }
  const json::object& root() const { return *root_; }

 private:
  std::unique_ptr<json::monotonic_resource> arena_;
  json::object* root_;  // in the arena
};

// Any JSON value, for bodies that need not be objects (JSON patches).
Expected<json::value> ParseJson(std::string_view text);

// --- reading by path; absent, null and wrong types are all "not there"
// ----------------------------------------

const json::value* Find(const json::object& object, std::string_view key);
// "spec.nodeName"; the keys themselves must not contain dots.
const json::value* FindPath(const json::object& object, std::string_view dotted_path);
const json::object* FindObject(const json::object& object, std::string_view dotted_path);
const json::array* FindArray(const json::object& object, std::string_view dotted_path);
std::string_view FindString(const json::object& object, std::string_view dotted_path);

// --- writing
// --------------------------------------------------------------------------------------------------

// The object under that key, created or put in place of whatever else was there.
json::object& ObjectAt(json::object& parent, std::string_view key);
json::array& ArrayAt(json::object& parent, std::string_view key);
// Removes members that are null, everywhere: for typed objects null and absent are the same.
void DropNulls(json::value& value);
void DropNulls(json::object& object);

}  // namespace berth::sandbox
