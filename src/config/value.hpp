// A configuration file as a tree, from JSON or YAML, and a strict reader: every field must be known, have the
// right type and occur once; otherwise the error names its path.
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
  // The position of the value in the order in which a Go program visits the document: of several errors the
  // one with the lowest number is reported first.
  std::uint32_t order = 0;
  std::string text;  // kNumber: as JSON has it; kString; kBool: "true" or "false"
  std::vector<Value> items;
  std::vector<std::pair<std::string, Value>> members;  // in the order of the file, keys unique

  // Defined in value.cpp, because clang rejects a pair with the incomplete type Value here; g++ accepts it.
  Value();
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;
  ~Value();

  static Value Null() { return {}; }
  static Value Bool(bool value);
  static Value Number(std::int64_t value);
  static Value Float(double value);  // a float32 of Kubernetes' types
  static Value Text(std::string value);
  static Value List();
  static Value Map();

  const Value* Find(std::string_view key) const;
  Value* Find(std::string_view key);
  // Adds or replaces the member. Only for a map.
  Value& Set(std::string_view key, Value value);
  void Remove(std::string_view key);
  friend bool operator==(const Value& a, const Value& b);  // ignores the order of members
};

struct ParsedText {
  Value root;
  bool json = false;
  // One text if members occur more than once, with the message of Go's YAML or JSON reader; the last one is
  // used.
  std::vector<std::string> duplicates;
};

// Parses one document: JSON if it begins with a brace, else YAML 1.1 as Kubernetes' parser reads it. Errors
// name the line ("yaml: line 5: ...").
Expected<ParsedText> ParseText(std::string_view text);

// The same; a repeated member is an error ("line 5: key \"parallelism\" already set in map").
Expected<Value> ParseValue(std::string_view text);

// Collects the errors of a document. Unknown fields are reported together, as in kube-scheduler; a wrong type
// ends the report.
class Problems {
 public:
  // `order` as in Value.
  void UnknownField(const std::string& path, const std::string& nearest, std::uint32_t order = 0);
  // `field` without indices.
  void WrongType(std::string_view got, std::string_view type_name, std::string_view field,
                 std::string_view go_type, std::uint32_t order = 0);
  void Other(std::string text, std::uint32_t order = 0);
  // An error that is listed with the unknown fields, after those of the document itself.
  void Strict(std::string text, std::vector<std::string> hints = {});
  // From now on nothing is read. Instead `visit` is called for every field that is requested, with its type
  // (empty: any); objects and lists are visited as if each had one empty element.
  using FieldVisitor = std::function<void(const std::string& path, std::string_view go_type)>;
  void Describe(FieldVisitor visit) { field_visitor_ = std::move(visit); }
  const FieldVisitor& describing() const { return field_visitor_; }
  bool empty() const { return fatal_.empty() && unknown_.empty() && strict_.empty(); }
  bool fatal() const { return !fatal_.empty(); }
  // The strict errors without "strict decoding error: "; hints excluded.
  std::vector<std::string> StrictTexts() const;
  std::vector<std::string> Hints() const;
  // Empty if there are no problems.
  std::string Text() const;

 private:
  struct Unknown {
    std::uint32_t order = 0;
    std::string text;
    std::string hint;
  };
  std::vector<Unknown> SortedUnknown() const;

  std::vector<Unknown> unknown_;
  std::vector<std::string> strict_;
  std::vector<std::string> strict_hints_;
  std::uint32_t fatal_order_ = 0;
  std::string fatal_;
  FieldVisitor field_visitor_;
};

// Reads the members of one object into variables; members not requested before Finish are unknown fields. An
// absent or null member leaves its variable unchanged.
class StructReader {
 public:
  using Visit = std::function<void(const Value&, const std::string&)>;

  // `type_name` is the Go type in error texts, `path` the prefix of field names in them ("profiles[0]").
  StructReader(const Value& value, std::string type_name, std::string path, Problems& problems);

  // Compares names case-insensitively, as Go's own JSON reader does.
  void IgnoreCase() { ignore_case_ = true; }

  bool Has(std::string_view name) const;
  void Read(std::string_view name, std::string& out, std::string_view go_type = "string");
  void Read(std::string_view name, bool& out);
  void Read(std::string_view name, std::int64_t& out, std::string_view go_type = "int64");
  void Read(std::string_view name, double& out, std::string_view go_type = "float32");
  void Read(std::string_view name, std::vector<std::string>& out);
  // Calls each(value, path) for the items of a list. `element_type` is the Go type of items that must be
  // objects.
  void Each(std::string_view name, const Visit& each, std::string_view element_type = "");
  // Calls with(value, path) if the member is present.
  void With(std::string_view name, const Visit& with, std::string_view go_type = "object");
  // Marks a member as known that is read elsewhere or deliberately ignored.
  const Value* Take(std::string_view name);
  void Finish();
  // The paths of members that were not requested; call instead of Finish.
  std::vector<std::string> Rest() const;
  std::string PathOf(std::string_view name) const;

 private:
  const Value* FindMember(std::string_view name) const;
  const Value* Know(std::string_view name, std::string_view go_type);
  const Value* Expect(std::string_view name, Value::Kind kind, std::string_view go_type);
  bool Known(std::string_view name) const;
  void Wrong(const Value& member, std::string_view name, std::string_view got, std::string_view go_type);

  const Value& value_;
  std::string type_name_;
  std::string path_;
  Problems& problems_;
  std::vector<std::string> known_;
  bool ignore_case_ = false;
};

}  // namespace berth::config
