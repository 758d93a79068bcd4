// The one reader of YAML and JSON text: a tree of values, as Kubernetes' Go code reads them
// (sigs.k8s.io/yaml: YAML 1.1, then JSON's types). Configuration files, kubeconfigs, dumps and the sandbox's
// request bodies use it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace berth::yaml {

// A value with its children. Numbers are kept as text.
struct Value {
  enum class Kind { kNull, kBool, kNumber, kString, kList, kMap };
  Kind kind = Kind::kNull;
  // Position in the order in which Kubernetes' Go code visits the document: JSON in the order of the text,
  // YAML by sorted keys. Of several errors, the one with the lowest number is reported first. 0: not from a
  // document.
  std::uint32_t order = 0;
  std::string text;  // kNumber: a JSON number; kString: the string; kBool: "true" or "false"; else empty
  std::vector<Value> items;
  std::vector<std::pair<std::string, Value>> members;  // in the order of the file, keys unique

  // Defined in yaml.cpp: a pair of an incomplete Value is not copyable here with clang.
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

  // The member of a map; null if absent, or if this is not a map.
  const Value* Find(std::string_view key) const;
  Value* Find(std::string_view key);
  // Adds or replaces a member. Requires a map.
  Value& Set(std::string_view key, Value value);
  void Remove(std::string_view key);
  friend bool operator==(const Value& a, const Value& b);  // ignores the order of members
};

// A text that was read as YAML or JSON.
struct ParsedText {
  Value root;
  bool json = false;
  // One text if members occur more than once, as Go's YAML or JSON reader reports it; the last one counts.
  std::vector<std::string> duplicates;
};

// Limits: 100 levels; no more values than the text has characters, plus 100,000 (references to anchors can
// multiply them). Beyond a limit, and for .inf and .nan, which JSON does not have, the result is an error.

// The first document: JSON if it begins with a brace, else YAML. Errors name the line ("yaml: line 5: ...").
Expected<ParsedText> ParseText(std::string_view text);

// The first document, read as YAML, which includes JSON. The last of several equal members counts.
Expected<ParsedText> ParseYaml(std::string_view text);

// The same; a member that occurs twice is an error ("line 5: key \"parallelism\" already set in map").
Expected<Value> ParseValue(std::string_view text);

// All documents of a YAML stream, in order, one result each; null for an empty document. The last of several
// equal members counts. A syntax error ("line 5: ...") makes the whole stream unreadable.
Expected<std::vector<Expected<Value>>> ParseStream(std::string_view text);

// The order in which members are written.
enum class MemberOrder : std::uint8_t { kOfText, kByName };

// Appends the value as JSON without white space.
void AppendJson(std::string& out, const Value& value, MemberOrder order = MemberOrder::kOfText);

}  // namespace berth::yaml
