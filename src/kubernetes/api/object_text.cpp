// The text of an object as sent to extenders: the API server's data in Go's JSON format, without kind and
// apiVersion, which Go's typed objects do not have.
#include "base/append_format.hpp"
#include "base/json_text.hpp"
#include "kubernetes/api/json_reader.hpp"

namespace berth::api {

namespace json {
namespace {

void Append(std::string& out, const element& value);

template <class Skip>
void AppendObject(std::string& out, const simdjson::dom::object& object, Skip&& skip) {
  out += '{';
  for (const auto& [key, member] : object) {
    if (skip(key)) continue;
    if (out.back() != '{') out += ',';
    AppendGoJsonString(out, key);
    out += ':';
    Append(out, member);
  }
  out += '}';
}

void Append(std::string& out, const element& value) {
  switch (value.type()) {
    case element_type::ARRAY: {
      out += '[';
      for (const element& item : simdjson::dom::array(value)) {
        if (out.back() != '[') out += ',';
        Append(out, item);
      }
      out += ']';
      return;
    }
    case element_type::OBJECT:
      return AppendObject(out, simdjson::dom::object(value), [](std::string_view) { return false; });
    case element_type::INT64:
      AppendFormat(out, "{}", std::int64_t(value));
      return;
    case element_type::UINT64:
      AppendFormat(out, "{}", std::uint64_t(value));
      return;
    case element_type::DOUBLE:
      AppendFormat(out, "{}", double(value));
      return;
    case element_type::STRING:
      return AppendGoJsonString(out, std::string_view(value));
    case element_type::BOOL:
      out += bool(value) ? "true" : "false";
      return;
    case element_type::NULL_VALUE:
      out += "null";
      return;
  }
}

}  // namespace

std::string GoText(const element& value, bool managed_fields) {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return "null";
  std::string out = "{";
  for (const auto& [key, member] : object) {
    if (key == "kind" || key == "apiVersion") continue;
    if (out.back() != '{') out += ',';
    AppendGoJsonString(out, key);
    out += ':';
    simdjson::dom::object metadata;
    if (key == "metadata" && !managed_fields && member.get(metadata) == simdjson::SUCCESS) {
      AppendObject(out, metadata, [](std::string_view field) { return field == "managedFields"; });
    } else {
      Append(out, member);
    }
  }
  return out += '}';
}

}  // namespace json
}  // namespace berth::api
