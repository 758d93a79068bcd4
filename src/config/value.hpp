// Strict reading of a configuration file: every field is known, has the right type and occurs once, or the
// error names its path.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/yaml.hpp"

namespace berth::config {

// The tree that files are read into (base/yaml.hpp).
using yaml::Value;

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
