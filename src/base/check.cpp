#include "base/check.hpp"

#include <unistd.h>

#include <array>
#include <string>

#include "base/append_format.hpp"
#include "base/crash_report.hpp"

namespace berth::check_internal {
namespace {

void Append(std::string& out, const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kSigned:
      AppendFormat(out, "{}", value.as_signed());
      return;
    case Value::Kind::kUnsigned:
      AppendFormat(out, "{}", value.as_unsigned());
      return;
    case Value::Kind::kDouble:
      AppendFormat(out, "{}", value.as_double());
      return;
    case Value::Kind::kBool:
      out += value.as_unsigned() != 0 ? "true" : "false";
      return;
    case Value::Kind::kText:
      break;
  }
  out += '"';
  for (const char c : value.text()) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  out += '"';
}

// Removes the source text of the next value from `names`: up to a comma outside of parentheses.
std::string_view NextName(std::string_view& names) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < names.size(); ++end) {
    if (names[end] == '(' || names[end] == '[' || names[end] == '{') ++depth;
    if (names[end] == ')' || names[end] == ']' || names[end] == '}') --depth;
    if (names[end] == ',' && depth == 0) break;
  }
  const std::string_view name = names.substr(0, end);
  names.remove_prefix(end == names.size() ? end : end + 1);
  while (names.starts_with(' ')) names.remove_prefix(1);
  return name;
}

std::string Report(std::string_view file, int line, std::string_view condition, std::string_view names,
                   std::initializer_list<Value> values) {
  std::array<char, 256> header;
  std::string out(crash_report::Header(header, file, line));
  out += "\"Invariant violated\" check=";
  Append(out, condition);
  for (const Value& value : values) {
    AppendFormat(out, " {}=", NextName(names));
    Append(out, value);
  }
  out += '\n';
  return out;
}

}  // namespace

void Fail(const char* file, int line, const char* condition, const char* names,
          std::initializer_list<Value> values) {
  // The report first: resolving function names needs memory, which may be corrupted.
  crash_report::Write(Report(file, line, condition, names, values));
  crash_report::WriteStack(1);
  ::_exit(kInvariantExitCode);
}

}  // namespace berth::check_internal
