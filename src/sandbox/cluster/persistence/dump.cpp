#include "sandbox/cluster/persistence/dump.hpp"

#include <algorithm>

#include "base/ascii.hpp"

namespace berth::sandbox {
namespace {

// True for text that every YAML parser reads as this string without quotes.
bool IsPlain(std::string_view text) {
  if (text.empty() || !((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z')))
    return false;
  static constexpr std::string_view kWords[] = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
  if (std::ranges::find(kWords, ToAsciiLower(text)) != std::end(kWords)) return false;
  return std::ranges::all_of(text, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./+").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

void AppendScalar(const json::value& value, std::string& out) {
  if (value.is_string() && IsPlain(value.get_string()))
    out.append(value.get_string());
  else
    out += json::serialize(value);  // a quoted JSON string is a valid YAML string
}

bool IsBlock(const json::value& value) {
  return (value.is_object() && !value.get_object().empty()) ||
         (value.is_array() && !value.get_array().empty());
}

void AppendBlock(const json::value& value, std::size_t indent, std::string& out, bool after_dash);

void AppendMember(std::string_view key, const json::value& value, std::size_t indent, std::string& out) {
  AppendScalar(json::value(key), out);
  out += ':';
  if (!IsBlock(value)) {
    out += ' ';
    AppendScalar(value, out);
    out += '\n';
    return;
  }
  out += '\n';
  AppendBlock(value, value.is_array() ? indent : indent + 2, out, false);
}

// `after_dash`: the first line follows its "- ".
void AppendBlock(const json::value& value, std::size_t indent, std::string& out, bool after_dash) {
  const std::string spaces(indent, ' ');
  const auto begin = [&] {
    if (!after_dash) out += spaces;
    after_dash = false;
  };
  if (value.is_object()) {
    for (const auto& member : value.get_object()) {
      begin();
      AppendMember(member.key(), member.value(), indent, out);
    }
    return;
  }
  for (const auto& element : value.get_array()) {
    begin();
    out += "- ";
    if (IsBlock(element)) {
      AppendBlock(element, indent + 2, out, true);
    } else {
      AppendScalar(element, out);
      out += '\n';
    }
  }
}

}  // namespace

std::string ToYaml(const json::value& value, int indent) {
  std::string out;
  const auto spaces = static_cast<std::size_t>(indent);
  if (IsBlock(value)) {
    AppendBlock(value, spaces, out, false);
  } else {
    out.append(spaces, ' ');
    AppendScalar(value, out);
    out += '\n';
  }
  return out;
}

std::string DumpObjects(const Store& store, DumpFormat format) {
  const bool yaml = format == DumpFormat::kYaml;
  std::string out =
      yaml ? "apiVersion: v1\nkind: List\nitems:\n" : R"({"apiVersion":"v1","kind":"List","items":[)";
  bool first = true;
  for (const auto& type : Resources()) {
    for (const auto& [_, object] : store.All(type)) {
      if (yaml) {
        out += "- ";
        AppendBlock(json::value(object->Parse().root()), 2, out, true);
      } else {
        out += first ? "\n" : ",\n";
        out += object->text;
      }
      first = false;
    }
  }
  if (yaml && first) out = "apiVersion: v1\nkind: List\nitems: []\n";
  if (!yaml) out += "\n]}\n";
  return out;
}

}  // namespace berth::sandbox
