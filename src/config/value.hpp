// A configuration file as a tree, JSON or YAML, and strict reading of it: every field is known, has the right
// type and occurs once, or the mistake is named with its path.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace berth::config {

struct Value {
  enum class Kind { kNull, kBool, kNumber, kString, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;  // kNumber: as written; kString; kBool: "true" or "false"
  std::vector<Value> items;
  std::vector<std::pair<std::string, Value>> members;  // in the order of the file, keys unique

  // Defined elsewhere, because a pair with Value inside is incomplete here; clang minds, g++ does not.
  Value();
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;
  ~Value();

  const Value* Find(std::string_view key) const;
};

// One document. Errors name line and key ("line 5: key \"parallelism\" already set in map").
Expected<Value> ParseValue(std::string_view text);

// Collects what is wrong with a document. Unknown fields are reported together, as kube-scheduler does; a
// wrong type ends the report.
class Problems {
 public:
  void UnknownField(const std::string& path, const std::string& nearest);
  void WrongType(std::string_view got, std::string_view type_name, std::string_view field,
                 std::string_view go_type);
  void Other(std::string text) {
    if (fatal_.empty()) fatal_ = std::move(text);
  }
  bool empty() const { return fatal_.empty() && unknown_.empty(); }
  // Empty if there are no problems.
  std::string Text() const;

 private:
  std::vector<std::string> unknown_;
  std::vector<std::string> hints_;
  std::string fatal_;
};

// Reads the members of one object into variables; what was not asked for by the time of Finish is unknown. An
// absent or null member leaves its variable alone.
class StructReader {
 public:
  // `type_name` is the Go type in error texts, `path` what comes before a field's name in them
  // ("profiles[0]").
  StructReader(const Value& value, std::string type_name, std::string path, Problems& problems);

  bool Has(std::string_view name) const;
  void Read(std::string_view name, std::string& out);
  void Read(std::string_view name, bool& out);
  void Read(std::string_view name, std::int64_t& out, std::string_view go_type = "int64");
  void Read(std::string_view name, double& out, std::string_view go_type = "float32");
  void Read(std::string_view name, std::vector<std::string>& out);
  // Calls each(value, path) for the items of a list.
  void Each(std::string_view name, const std::function<void(const Value&, const std::string&)>& each);
  // Calls with(value, path) if the member is there.
  void With(std::string_view name, const std::function<void(const Value&, const std::string&)>& with);
  // Takes note of a member that is read elsewhere or on purpose not at all.
  const Value* Take(std::string_view name);
  void Finish();

 private:
  const Value* Expect(std::string_view name, Value::Kind kind, std::string_view go_type);
  std::string PathOf(std::string_view name) const;

  const Value& value_;
  std::string type_name_;
  std::string path_;
  Problems& problems_;
  std::vector<std::string> known_;
};

}  // namespace berth::config
