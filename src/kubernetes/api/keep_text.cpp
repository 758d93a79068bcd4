// The text of an object as sent to extenders: the API server's data in Go's JSON format, without kind and
// apiVersion, which Go's typed objects do not have.
#include <fmt/format.h>

#include "kubernetes/api/go_json.hpp"
#include "kubernetes/api/json_reader.hpp"

namespace berth::api {

void AppendGoString(std::string& out, std::string_view text) {
  out += '"';
  std::size_t plain = 0;  // start of the current run of characters that need no escape
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    const bool separator = byte == 0xE2 && text.substr(i + 1, 1) == "\x80" && i + 2 < text.size() &&
                           (text[i + 2] == '\xA8' || text[i + 2] == '\xA9');
    if (byte >= 0x20 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' && !separator) continue;
    out.append(text, plain, i - plain);
    constexpr std::string_view kShort = "\"\\\n\r\t\b\f";
    constexpr std::string_view kLetters = "\"\\nrtbf";
    if (separator) {
      out += text[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else if (const auto known = kShort.find(c); known != std::string_view::npos) {
      out += '\\';
      out += kLetters[known];
    } else {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
    }
    plain = i + 1;
  }
  out.append(text, plain);
  out += '"';
}

namespace json {
namespace {

void Append(std::string& out, const element& value);

template <class Skip>
void AppendObject(std::string& out, const simdjson::dom::object& object, Skip&& skip) {
  out += '{';
  for (const auto& [key, member] : object) {
    if (skip(key)) continue;
    if (out.back() != '{') out += ',';
    AppendGoString(out, key);
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
      fmt::format_to(std::back_inserter(out), "{}", std::int64_t(value));
      return;
    case element_type::UINT64:
      fmt::format_to(std::back_inserter(out), "{}", std::uint64_t(value));
      return;
    case element_type::DOUBLE:
      fmt::format_to(std::back_inserter(out), "{}", double(value));
      return;
    case element_type::STRING:
      return AppendGoString(out, std::string_view(value));
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
    AppendGoString(out, key);
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
