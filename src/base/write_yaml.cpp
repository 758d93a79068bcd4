#include "base/write_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/json_text.hpp"

namespace berth::yaml {
namespace {

std::vector<const std::pair<std::string, Value>*> Sorted(const Value& map) {
  std::vector<const std::pair<std::string, Value>*> members;
  for (const auto& member : map.members) members.push_back(&member);
  std::ranges::sort(members, {}, [](const auto* member) -> const std::string& { return member->first; });
  return members;
}

// Whether the plain text would be read as another type than string.
bool ReadsAsSomethingElse(const std::string& text) {
  if (text.empty()) return true;
  static constexpr std::string_view kNotNumbers[] = {".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",  ".INF",
                                                     "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"};
  if (std::ranges::find(kNotNumbers, text) != std::end(kNotNumbers)) return true;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  // Dates, and base-60 numbers, which older readers support.
  if (text.size() >= 8 && std::ranges::all_of(text.substr(0, 4), digit) && text[4] == '-') return true;
  if (text.find(':') != std::string::npos && text.find_first_not_of("0123456789+-_:.") == std::string::npos &&
      (digit(text[0]) || text[0] == '-' || text[0] == '+'))
    return true;
  if (text.find_first_of(" #:,[]{}&*!|>'\"%@`\n\t") != std::string::npos) return false;
  const auto read = ParseValue(text);
  return read && read->kind != Value::Kind::kString && read->kind != Value::Kind::kMap &&
         read->kind != Value::Kind::kList;
}

// Whether the text may be unquoted in a block.
bool MayBePlain(const std::string& text) {
  if (text.front() == ' ' || text.back() == ' ') return false;
  if (text.starts_with("---") || text.starts_with("...")) return false;
  constexpr std::string_view kNotFirst = "#,[]{}&*!|>'\"%@`";
  if (kNotFirst.find(text.front()) != std::string_view::npos) return false;
  const auto blank_after = [&](std::size_t i) { return i + 1 == text.size() || text[i + 1] == ' '; };
  if ((text.front() == '-' || text.front() == '?') && blank_after(0)) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ':' && blank_after(i)) return false;
    if (text[i] == '#' && i > 0 && text[i - 1] == ' ') return false;
  }
  return true;
}

bool HasControls(const std::string& text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::string Quoted(const std::string& text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

// Writes text of several lines as a literal block.
void AppendLiteral(std::string& out, const std::string& text, std::size_t indent) {
  std::string_view rest = text;
  out += rest.ends_with("\n\n") ? "|+" : rest.ends_with('\n') ? "|" : "|-";
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    out += '\n';
    if (end > 0) out.append(indent, ' ').append(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

bool FitsLiteral(const std::string& text) {
  return text.front() != ' ' && text.front() != '\n' && text.find(" \n") == std::string::npos &&
         text.back() != ' ' && std::ranges::none_of(text, [](char c) {
           return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f;
         });
}

void AppendScalar(std::string& out, const Value& value, std::size_t indent) {
  switch (value.kind) {
    case Value::Kind::kNull:
      out += "null";
      return;
    case Value::Kind::kBool:
    case Value::Kind::kNumber:
      out += value.text;
      return;
    default:
      break;
  }
  const std::string& text = value.text;
  if (ReadsAsSomethingElse(text)) {
    out += Quoted(text);
  } else if (text.find('\n') != std::string::npos && FitsLiteral(text)) {
    AppendLiteral(out, text, indent);
  } else if (HasControls(text)) {
    out += Quoted(text);
  } else if (MayBePlain(text)) {
    out += text;
  } else {
    out += '\'';
    for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
    out += '\'';
  }
}

bool IsEmpty(const Value& value) { return value.items.empty() && value.members.empty(); }
bool IsNested(const Value& value) {
  return (value.kind == Value::Kind::kList || value.kind == Value::Kind::kMap) && !IsEmpty(value);
}

// `begun`: the first line is already indented.
void AppendYaml(std::string& out, const Value& value, std::size_t indent, bool begun) {
  const auto new_line = [&] {
    if (!begun) out.append(indent, ' ');
    begun = false;
  };
  if (value.kind == Value::Kind::kList && !value.items.empty()) {
    for (const Value& item : value.items) {
      new_line();
      out += "- ";
      AppendYaml(out, item, indent + 2, true);
    }
  } else if (value.kind == Value::Kind::kMap && !value.members.empty()) {
    for (const auto* member : Sorted(value)) {
      new_line();
      AppendScalar(out, Value::Text(member->first), indent);
      out += ':';
      if (!IsNested(member->second)) {
        out += ' ';
        AppendYaml(out, member->second, indent + 2, true);
        continue;
      }
      out += '\n';
      AppendYaml(out, member->second, member->second.kind == Value::Kind::kList ? indent : indent + 2, false);
    }
  } else {
    if (value.kind == Value::Kind::kList) {
      out += "[]";
    } else if (value.kind == Value::Kind::kMap) {
      out += "{}";
    } else {
      AppendScalar(out, value, indent);
    }
    out += '\n';
  }
}

}  // namespace

std::string ToYaml(const Value& value) {
  std::string out;
  AppendYaml(out, value, 0, false);
  return out;
}

std::string ToJson(const Value& value) {
  std::string out;
  AppendJson(out, value, MemberOrder::kByName);
  return out;
}

}  // namespace berth::yaml
