// Functions on strings (cel-go's ext.Strings, version 2).
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cel/functions.hpp"
#include "cel/library/format_string.hpp"

namespace berth::cel {
namespace {

// Offsets are in code points.
class CodePoints {
 public:
  explicit CodePoints(const Value& string) : text_(string.text()), count_(string.code_points()) {}
  std::int64_t size() const { return count_; }
  // The byte at which a code point begins; `index` in [0, size()].
  std::size_t ByteOf(std::int64_t index) const {
    if (static_cast<std::size_t>(count_) == text_.size()) return static_cast<std::size_t>(index);
    std::size_t at = 0;
    for (; at < text_.size() && (index > 0 || IsInner(at)); ++at) index -= !IsInner(at);
    while (at < text_.size() && IsInner(at)) ++at;
    return at;
  }
  std::int64_t IndexOfByte(std::size_t byte) const {
    std::int64_t index = 0;
    for (std::size_t at = 0; at < byte; ++at) index += !IsInner(at);
    return index;
  }
  std::string_view text() const { return text_; }

 private:
  bool IsInner(std::size_t at) const { return (static_cast<unsigned char>(text_[at]) & 0xc0) == 0x80; }
  std::string_view text_;
  std::int64_t count_;
};

Value OutOfRange(std::int64_t index) { return Value::Error(fmt::format("index out of range: {}", index)); }

// Reading a string once, and searching in it at worst.
bool SpendSearch(CallContext& context, const Value& text, const Value& part) {
  return context.budget.Spend(text.text().size() / 4 * (1 + part.text().size() / 32) + 1);
}

Value CharAt(CallContext& context, Arguments args) {
  const CodePoints text(args[0]);
  const std::int64_t index = args[1].as_int();
  if (index < 0 || index > text.size()) return OutOfRange(index);
  if (index == text.size()) return Value::String({});
  if (!context.budget.Spend(text.text().size() / 4)) return {};
  const std::size_t begin = text.ByteOf(index);
  return Value::String(std::string(text.text().substr(begin, text.ByteOf(index + 1) - begin)));
}

Value IndexOfString(CallContext& context, Arguments args) {
  const CodePoints text(args[0]);
  const std::int64_t offset = args.size() == 3 ? args[2].as_int() : 0;
  if (offset < 0) return OutOfRange(offset);
  if (args[1].text().empty()) return Value::Int(std::min(offset, text.size()));
  if (offset >= text.size()) return Value::Int(-1);
  if (!SpendSearch(context, args[0], args[1])) return {};
  const std::size_t found = text.text().find(args[1].text(), text.ByteOf(offset));
  return Value::Int(found == std::string_view::npos ? -1 : text.IndexOfByte(found));
}

Value LastIndexOfString(CallContext& context, Arguments args) {
  const CodePoints text(args[0]);
  const bool with_offset = args.size() == 3;
  if (!with_offset) {
    if (args[1].text().empty()) return Value::Int(text.size());
    if (args[0].text().size() < args[1].text().size()) return Value::Int(-1);
  }
  const std::int64_t offset = with_offset ? args[2].as_int() : text.size() - 1;
  if (offset < 0) return OutOfRange(offset);
  if (args[1].text().empty()) return Value::Int(std::min(offset, text.size()));
  if (offset >= text.size()) return Value::Int(-1);
  if (!SpendSearch(context, args[0], args[1])) return {};
  const std::size_t found = text.text().rfind(args[1].text(), text.ByteOf(offset));
  return Value::Int(found == std::string_view::npos ? -1 : text.IndexOfByte(found));
}

template <char first, char last, int shift>
Value MapAscii(CallContext& context, Arguments args) {
  if (!context.budget.Spend(args[0].text().size())) return {};
  std::string text = args[0].text();
  for (char& c : text) {
    if (c >= first && c <= last) c = static_cast<char>(c + shift);
  }
  return Value::String(std::move(text));
}

// strings.Replace: an empty `old` matches before every character and at the end.
Value Replace(CallContext& context, Arguments args) {
  const std::string& text = args[0].text();
  const std::string& old = args[1].text();
  const std::string& replacement = args[2].text();
  std::int64_t left = args.size() == 4 ? args[3].as_int() : -1;
  if (old == replacement || left == 0) return args[0];
  if (!SpendSearch(context, args[0], args[1])) return {};
  std::string result;
  std::size_t at = 0;
  for (bool first = true; left != 0; first = false, --left) {
    std::size_t found = old.empty() ? at : text.find(old, at);
    if (old.empty() && !first) {
      if (at >= text.size()) break;
      for (found = at + 1; found < text.size() && (static_cast<unsigned char>(text[found]) & 0xc0) == 0x80;)
        ++found;
    }
    if (found == std::string::npos) break;
    if (!context.budget.Spend(found - at + replacement.size() + 1)) return {};
    result += text.substr(at, found - at);
    result += replacement;
    at = found + old.size();
  }
  result += text.substr(at);
  return Value::String(std::move(result));
}

// strings.SplitN: an empty separator splits after every character.
Value Split(CallContext& context, Arguments args) {
  const std::string& text = args[0].text();
  const std::string& separator = args[1].text();
  const std::int64_t limit = args.size() == 3 ? args[2].as_int() : -1;
  std::vector<Value> parts;
  if (limit == 0) return Value::List({});
  if (!context.budget.Spend(text.size()) || !SpendSearch(context, args[0], args[1])) return {};
  std::size_t at = 0;
  if (separator.empty()) {
    while (at < text.size()) {
      std::size_t end = at + 1;
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
      if (limit > 0 && static_cast<std::int64_t>(parts.size()) == limit - 1) end = text.size();
      if (!context.budget.Spend(8)) return {};
      parts.push_back(Value::String(text.substr(at, end - at)));
      at = end;
    }
    return Value::List(std::move(parts));
  }
  while (limit < 0 || static_cast<std::int64_t>(parts.size()) < limit - 1) {
    const std::size_t found = text.find(separator, at);
    if (found == std::string::npos) break;
    if (!context.budget.Spend(8)) return {};
    parts.push_back(Value::String(text.substr(at, found - at)));
    at = found + separator.size();
  }
  parts.push_back(Value::String(text.substr(at)));
  return Value::List(std::move(parts));
}

Value Substring(CallContext& context, Arguments args) {
  const CodePoints text(args[0]);
  const std::int64_t start = args[1].as_int();
  const std::int64_t end = args.size() == 3 ? args[2].as_int() : text.size();
  if (args.size() == 3 && start > end) {
    return Value::Error(fmt::format("invalid substring range. start: {}, end: {}", start, end));
  }
  if (start < 0 || start > text.size()) return OutOfRange(start);
  if (end < 0 || end > text.size()) return OutOfRange(end);
  if (!context.budget.Spend(text.text().size())) return {};
  const std::size_t begin = text.ByteOf(start);
  return Value::String(std::string(text.text().substr(begin, text.ByteOf(end) - begin)));
}

// The length of Unicode's white space at the beginning of a text.
std::size_t SpaceAt(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  if (byte(0) == ' ' || (byte(0) >= '\t' && byte(0) <= '\r')) return text.empty() ? 0 : 1;
  if (byte(0) == 0xc2 && (byte(1) == 0x85 || byte(1) == 0xa0)) return 2;
  if (byte(0) == 0xe1 && byte(1) == 0x9a && byte(2) == 0x80) return 3;
  if (byte(0) == 0xe2 && byte(1) == 0x80) {
    const unsigned last = byte(2);
    return (last >= 0x80 && last <= 0x8a) || last == 0xa8 || last == 0xa9 || last == 0xaf ? 3 : 0;
  }
  if (byte(0) == 0xe2 && byte(1) == 0x81 && byte(2) == 0x9f) return 3;
  return byte(0) == 0xe3 && byte(1) == 0x80 && byte(2) == 0x80 ? 3 : 0;
}

Value Trim(CallContext& context, Arguments args) {
  std::string_view text = args[0].text();
  if (!context.budget.Spend(text.size())) return {};
  while (!text.empty()) {
    const std::size_t space = SpaceAt(text);
    if (space == 0) break;
    text.remove_prefix(space);
  }
  for (bool trimmed = true; trimmed && !text.empty();) {
    trimmed = false;
    for (std::size_t size = 1; size <= std::min<std::size_t>(3, text.size()); ++size) {
      if (SpaceAt(text.substr(text.size() - size)) != size) continue;
      text.remove_suffix(size);
      trimmed = true;
      break;
    }
  }
  return Value::String(std::string(text));
}

Value Join(CallContext& context, Arguments args) {
  const ListObject& list = args[0].list();
  const std::string separator = args.size() == 2 ? args[1].text() : std::string();
  std::string text;
  for (std::int64_t i = 0; i < list.size; ++i) {
    const Value& element = list.At(i);
    if (element.kind() != ValueKind::kString) {
      return Value::Error("join: invalid input: " + GoText(element, context.budget));
    }
    if (!context.budget.Spend(1 + separator.size() + element.text().size())) return {};
    if (i > 0) text += separator;
    text += element.text();
  }
  return Value::String(std::move(text));
}

Value Quote(CallContext& context, Arguments args) {
  if (!context.budget.Spend(2 * args[0].text().size())) return {};
  constexpr std::string_view kCharacters = "\a\b\f\n\r\t\v\\\"";
  constexpr std::string_view kNames = "abfnrtv\\\"";
  std::string text = "\"";
  for (const char c : args[0].text()) {
    const std::size_t at = kCharacters.find(c);
    if (at != std::string_view::npos) text += '\\';
    text += at == std::string_view::npos ? c : kNames[at];
  }
  return Value::String(text + "\"");
}

Value Format(CallContext& context, Arguments args) {
  const ListObject& list = args[1].list();
  std::string result;
  std::int64_t used = 0;
  if (!context.budget.Spend(args[0].text().size())) return {};
  std::string error = ParseFormat(
      args[0].text(), list.size, false, [&](std::string_view text) { result += text; },
      [&](const FormatClause& clause, std::int64_t index) {
        return FormatArgument(clause, list.At(index), result, context.budget);
      },
      used);
  return error.empty() ? Value::String(std::move(result)) : Value::Error(std::move(error));
}

}  // namespace

void AddStringsLibrary(FunctionRegistry& registry) {
  const TypePtr& s = StringType();
  const TypePtr& i = IntType();
  const TypePtr list = ListOf(s);
  registry.AddMember("charAt", "string_char_at_int", {s, i}, s, CharAt);
  registry.AddMember("indexOf", "string_index_of_string", {s, s}, i, IndexOfString);
  registry.AddMember("indexOf", "string_index_of_string_int", {s, s, i}, i, IndexOfString);
  registry.AddMember("lastIndexOf", "string_last_index_of_string", {s, s}, i, LastIndexOfString);
  registry.AddMember("lastIndexOf", "string_last_index_of_string_int", {s, s, i}, i, LastIndexOfString);
  registry.AddMember("lowerAscii", "string_lower_ascii", {s}, s, MapAscii<'A', 'Z', 32>);
  registry.AddMember("replace", "string_replace_string_string", {s, s, s}, s, Replace);
  registry.AddMember("replace", "string_replace_string_string_int", {s, s, s, i}, s, Replace);
  registry.AddMember("split", "string_split_string", {s, s}, list, Split);
  registry.AddMember("split", "string_split_string_int", {s, s, i}, list, Split);
  registry.AddMember("substring", "string_substring_int", {s, i}, s, Substring);
  registry.AddMember("substring", "string_substring_int_int", {s, i, i}, s, Substring);
  registry.AddMember("trim", "string_trim", {s}, s, Trim);
  registry.AddMember("upperAscii", "string_upper_ascii", {s}, s, MapAscii<'a', 'z', -32>);
  registry.AddMember("format", "string_format", {s, DynListType()}, s, Format, true);
  registry.AddGlobal("strings.quote", "strings_quote", {s}, s, Quote);
  registry.AddMember("join", "list_join", {list}, s, Join);
  registry.AddMember("join", "list_join_string", {list, s}, s, Join);
}

}  // namespace berth::cel
