#include "cel/library/regular_expressions.hpp"

#include <re2/re2.h>

#include "cel/functions.hpp"

namespace berth::cel {
namespace {

constexpr std::int64_t kPatternMemory = 8 << 20;  // bytes; Go's limits are of the same order

// The name of an error in Go's package regexp/syntax.
const char* GoErrorName(re2::RE2::ErrorCode code) {
  switch (code) {
    case re2::RE2::ErrorBadEscape:
      return "invalid escape sequence";
    case re2::RE2::ErrorBadCharClass:
      return "invalid character class";
    case re2::RE2::ErrorBadCharRange:
      return "invalid character class range";
    case re2::RE2::ErrorMissingBracket:
      return "missing closing ]";
    case re2::RE2::ErrorMissingParen:
      return "missing closing )";
    case re2::RE2::ErrorUnexpectedParen:
      return "unexpected )";
    case re2::RE2::ErrorTrailingBackslash:
      return "trailing backslash at end of expression";
    case re2::RE2::ErrorRepeatArgument:
      return "missing argument to repetition operator";
    case re2::RE2::ErrorRepeatSize:
      return "invalid repeat count";
    case re2::RE2::ErrorRepeatOp:
      return "invalid nested repetition operator";
    case re2::RE2::ErrorBadPerlOp:
      return "invalid or unsupported Perl syntax";
    case re2::RE2::ErrorBadUTF8:
      return "invalid UTF-8";
    case re2::RE2::ErrorBadNamedCapture:
      return "invalid named capture";
    case re2::RE2::ErrorPatternTooLarge:
      return "expression too large";
    default:
      return "internal error";
  }
}

std::string GoError(std::string_view name, const std::string& part) {
  std::string text = "error parsing regexp: ";
  text += name;
  return text + ": `" + part + "`";
}

// Go accepts (?<name>...), which this RE2 does not know yet, and rejects \C. Returns false for the latter.
bool Translate(const std::string& pattern, std::string& translated) {
  bool in_class = false;
  bool quoted = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char next = pattern[++i];
      if (quoted ? next == 'E' : next == 'Q') quoted = !quoted;
      if (!quoted && !in_class && next == 'C') return false;
      translated += {c, next};
      continue;
    }
    translated += c;
    if (quoted) continue;
    if (in_class) {
      if (c == ']') in_class = false;
    } else if (c == '[') {
      in_class = true;
      // A bracket at the beginning belongs to the class.
      if (pattern[i + 1] == '^') translated += pattern[++i];
      if (i + 1 < pattern.size() && pattern[i + 1] == ']') translated += pattern[++i];
    } else if (c == '(' && pattern.compare(i + 1, 2, "?<") == 0) {
      translated += "?P";
      ++i;
    }
  }
  return true;
}

Value Find(CallContext& context, Arguments args) {
  std::string error;
  if (!context.budget.Spend(64 * args[1].text().size())) return {};
  const auto pattern = CompilePattern(args[1].text(), error);
  if (pattern == nullptr) return Value::Error("Illegal regex: " + error);
  return FindPattern(*pattern, args[0].text(), context.budget);
}

Value FindAll(CallContext& context, Arguments args) {
  std::string error;
  if (!context.budget.Spend(64 * args[1].text().size())) return {};
  const auto pattern = CompilePattern(args[1].text(), error);
  if (pattern == nullptr) return Value::Error("Illegal regex: " + error);
  return FindAllPattern(*pattern, args[0].text(), args.size() == 3 ? args[2].as_int() : -1, context.budget);
}

}  // namespace

std::shared_ptr<const re2::RE2> CompilePattern(const std::string& pattern, std::string& error) {
  std::string translated;
  if (!Translate(pattern, translated)) {
    error = GoError("invalid escape sequence", "\\C");
    return nullptr;
  }
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemory);
  auto compiled = std::make_shared<const re2::RE2>(translated, options);
  if (compiled->ok()) return compiled;
  error = GoError(GoErrorName(compiled->error_code()), compiled->error_arg());
  return nullptr;
}

Value MatchPattern(const re2::RE2& pattern, const std::string& text, Budget& budget) {
  if (!budget.Spend(text.size())) return {};
  return Value::Bool(re2::RE2::PartialMatch(text, pattern));
}

Value FindPattern(const re2::RE2& pattern, const std::string& text, Budget& budget) {
  if (!budget.Spend(text.size())) return {};
  re2::StringPiece match;
  if (!pattern.Match(text, 0, text.size(), re2::RE2::UNANCHORED, &match, 1)) return Value::String({});
  return Value::String(std::string(match));
}

Value FindAllPattern(const re2::RE2& pattern, const std::string& text, std::int64_t limit, Budget& budget) {
  std::vector<Value> matches;
  std::size_t at = 0;
  std::size_t previous_end = std::string::npos;
  while (at <= text.size() && (limit < 0 || static_cast<std::int64_t>(matches.size()) < limit)) {
    if (!budget.Spend(1)) return {};
    re2::StringPiece match;
    if (!pattern.Match(text, at, text.size(), re2::RE2::UNANCHORED, &match, 1)) break;
    const auto begin = static_cast<std::size_t>(match.data() - text.data());
    const std::size_t end = begin + match.size();
    if (!budget.Spend(end - at)) return {};
    // An empty match directly behind the previous one does not count.
    const bool counts = !match.empty() || begin != previous_end;
    if (counts) matches.push_back(Value::String(std::string(match)));
    previous_end = end;
    if (end > at) {
      at = end;
      continue;
    }
    do ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80);
  }
  return Value::List(std::move(matches));
}

void AddKubernetesRegex(FunctionRegistry& registry) {
  registry.AddMember("find", "string_find_string", {StringType(), StringType()}, StringType(), Find);
  registry.AddMember("findAll", "string_find_all_string", {StringType(), StringType()}, ListOf(StringType()),
                     FindAll);
  registry.AddMember("findAll", "string_find_all_string_int", {StringType(), StringType(), IntType()},
                     ListOf(StringType()), FindAll);
}

}  // namespace berth::cel
