// Strict reading of a configuration file: every field is known, has the right type and occurs once, or the error
// names its path.
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

// Collects what is wrong with a document. Unknown fields are reported together, as kube-scheduler does; a
// wrong type ends the report.
class Problems {
 public:
  // `order` as in Value.
  void UnknownField(const std::string& path, const std::string& nearest, std::uint32_t order = 0);
  // `field` without indices.
  void WrongType(std::string_view got, std::string_view type_name, std::string_view field,
                 std::string_view go_type, std::uint32_t order = 0);
  void Other(std::string text, std::uint32_t order = 0);
  // A mistake that is listed with the unknown fields, after those of the document itself.
  void Strict(std::string text, std::vector<std::string> hints = {});
  // From now on nothing is read, but told: every field that is asked for, with its type (empty: any), and
  // what is in objects and lists, as if there were an empty one.
  using TellField = std::function<void(const std::string& path, std::string_view go_type)>;
  void Describe(TellField tell) { tell_field_ = std::move(tell); }
  const TellField& describing() const { return tell_field_; }
  bool empty() const { return fatal_.empty() && unknown_.empty() && strict_.empty(); }
  bool fatal() const { return !fatal_.empty(); }
  // What is listed, without "strict decoding error: "; hints apart.
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
  TellField tell_field_;
};

// Reads the members of one object into variables; what was not asked for by the time of Finish is unknown. An
// absent or null member leaves its variable alone.
class StructReader {
 public:
  using Visit = std::function<void(const Value&, const std::string&)>;

  // `type_name` is the Go type in error texts, `path` what comes before a field's name in them
  // ("profiles[0]").
  StructReader(const Value& value, std::string type_name, std::string path, Problems& problems);

  // Names are compared as Go's own JSON reader does, whatever their case.
  void IgnoreCase() { ignore_case_ = true; }

  bool Has(std::string_view name) const;
  void Read(std::string_view name, std::string& out, std::string_view go_type = "string");
  void Read(std::string_view name, bool& out);
  void Read(std::string_view name, std::int64_t& out, std::string_view go_type = "int64");
  void Read(std::string_view name, double& out, std::string_view go_type = "float32");
  void Read(std::string_view name, std::vector<std::string>& out);
  // Calls each(value, path) for the items of a list. `element_type` is the Go type of an item that must be an
  // object.
  void Each(std::string_view name, const Visit& each, std::string_view element_type = "");
  // Calls with(value, path) if the member is there.
  void With(std::string_view name, const Visit& with, std::string_view go_type = "object");
  // Takes note of a member that is read elsewhere or on purpose not at all.
  const Value* Take(std::string_view name);
  void Finish();
  // The members that nobody asked for, instead of Finish: their paths.
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
