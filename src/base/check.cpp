#include "base/check.hpp"

#include <execinfo.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <iterator>
#include <string>

#include "base/symbols.hpp"

namespace berth::check_internal {
namespace {

constexpr int kFrames = 64;

void Append(std::string& out, const Value& value) {
  const auto to = std::back_inserter(out);
  switch (value.kind()) {
    case Value::Kind::kSigned:
      fmt::format_to(to, "{}", value.as_signed());
      return;
    case Value::Kind::kUnsigned:
      fmt::format_to(to, "{}", value.as_unsigned());
      return;
    case Value::Kind::kDouble:
      fmt::format_to(to, "{}", value.as_double());
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
  const auto now = std::chrono::system_clock::now();
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1'000'000;
  file.remove_prefix(file.rfind('/') + 1);  // npos + 1 is 0
  std::string out =
      fmt::format("F{:%m%d %H:%M:%S}.{:06} {:7} {}:{}] \"Invariant violated\" check=",
                  fmt::gmtime(std::chrono::system_clock::to_time_t(now)), micros, ::getpid(), file, line);
  Append(out, condition);
  for (const Value& value : values) {
    fmt::format_to(std::back_inserter(out), " {}=", NextName(names));
    Append(out, value);
  }
  out += '\n';
  return out;
}

void Write(std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void Fail(const char* file, int line, const char* condition, const char* names,
          std::initializer_list<Value> values) {
  // The report first: resolving function names needs memory, which may be corrupted.
  Write(Report(file, line, condition, names, values));
  void* frames[kFrames];
  const int depth = ::backtrace(frames, kFrames);
  const Symbols symbols;
  for (int i = 1; i < depth; ++i) {  // 0 is this function
    const auto address = reinterpret_cast<std::uintptr_t>(frames[i]);
    // A return address may be the first one after a function that does not return.
    const std::string name = symbols.NameOf(address - 1);
    Write(fmt::format("    #{} {:#x} {}\n", i, address, name.empty() ? "?" : name));
  }
  ::_exit(kInvariantExitCode);
}

}  // namespace berth::check_internal
