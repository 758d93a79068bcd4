#include "cel/library/regular_expressions.hpp"

#include <re2/re2.h>

#include <algorithm>

#include "cel/functions.hpp"

namespace berth::cel {
namespace {

// Bytes. Most patterns are small, the others may count Unicode's letters: \pL{1,63}. Go accepts larger ones,
// but its programs are smaller, because they read code points instead of bytes.
constexpr std::int64_t kPatternMemory = 256 << 10;
constexpr std::int64_t kLargePatternMemory = 2 << 20;
// Measured, in units of a budget of two nanoseconds.
constexpr std::uint64_t kUnitsPerPatternByte = 64;
constexpr std::uint64_t kUnitsPerInstruction = 128;
constexpr std::uint64_t kUnitsOfTooLargePattern = 8'000'000;
constexpr std::uint64_t kInstructionsPerUnit = 8;
constexpr std::size_t kBytesPerByteBehindMatch = 4;

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
      // The bracket at the end of [:digit:] does not end the class.
      if (c == '[' && i + 1 < pattern.size() && pattern[i + 1] == ':') {
        if (const std::size_t end = pattern.find(":]", i + 2); end != pattern.npos) {
          translated.append(pattern, i + 1, end + 1 - i);
          i = end + 1;
        }
      } else if (c == ']') {
        in_class = false;
      }
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
  const auto pattern = CompilePattern(args[1].text(), error, context.budget);
  if (pattern == nullptr) return Value::Error("Illegal regex: " + error);
  return FindPattern(*pattern, args[0].text(), context.budget);
}

Value FindAll(CallContext& context, Arguments args) {
  std::string error;
  const auto pattern = CompilePattern(args[1].text(), error, context.budget);
  if (pattern == nullptr) return Value::Error("Illegal regex: " + error);
  return FindAllPattern(*pattern, args[0].text(), args.size() == 3 ? args[2].as_int() : -1, context.budget);
}

std::shared_ptr<const re2::RE2> CompileWithin(std::int64_t memory, const std::string& pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(memory);
  return std::make_shared<const re2::RE2>(pattern, options);
}

bool IsTooLarge(const re2::RE2& pattern) { return pattern.error_code() == re2::RE2::ErrorPatternTooLarge; }

std::uint64_t InstructionsOf(const re2::RE2& pattern) {
  return static_cast<std::uint64_t>(std::max(0, pattern.ProgramSize()));
}

std::uint64_t CompilationUnits(const re2::RE2& pattern) {
  return IsTooLarge(pattern) ? kUnitsOfTooLargePattern : kUnitsPerInstruction * InstructionsOf(pattern);
}

// In the worst case RE2 follows the whole program at every byte.
bool SpendSearch(const re2::RE2& pattern, std::size_t bytes, Budget& budget) {
  return budget.Spend((1 + bytes) * (1 + InstructionsOf(pattern) / kInstructionsPerUnit));
}

}  // namespace

std::shared_ptr<const re2::RE2> CompilePattern(const std::string& pattern, std::string& error,
                                               Budget& budget) {
  const auto too_large = [&] {
    error = GoError(GoErrorName(re2::RE2::ErrorPatternTooLarge), pattern);
    return nullptr;
  };
  if (!budget.Spend(kUnitsPerPatternByte * pattern.size())) return too_large();
  std::string translated;
  if (!Translate(pattern, translated)) {
    error = GoError("invalid escape sequence", "\\C");
    return nullptr;
  }
  auto compiled = CompileWithin(kPatternMemory, translated);
  if (IsTooLarge(*compiled)) compiled = CompileWithin(kLargePatternMemory, translated);
  if (!budget.Spend(CompilationUnits(*compiled)) || IsTooLarge(*compiled)) return too_large();
  if (compiled->ok()) return compiled;
  error = GoError(GoErrorName(compiled->error_code()), compiled->error_arg());
  return nullptr;
}

std::size_t PatternMemory(const re2::RE2& pattern) {
  return static_cast<std::size_t>(pattern.options().max_mem());
}

Value MatchPattern(const re2::RE2& pattern, const std::string& text, Budget& budget) {
  if (!SpendSearch(pattern, text.size(), budget)) return {};
  return Value::Bool(re2::RE2::PartialMatch(text, pattern));
}

Value FindPattern(const re2::RE2& pattern, const std::string& text, Budget& budget) {
  if (!SpendSearch(pattern, text.size(), budget)) return {};
  re2::StringPiece match;
  if (!pattern.Match(text, 0, text.size(), re2::RE2::UNANCHORED, &match, 1)) return Value::String({});
  return Value::String(std::string(match));
}

Value FindAllPattern(const re2::RE2& pattern, const std::string& text, std::int64_t limit, Budget& budget) {
  if (!SpendSearch(pattern, text.size(), budget)) return {};
  std::vector<Value> matches;
  std::size_t at = 0;
  std::size_t previous_end = std::string::npos;
  while (at <= text.size() && (limit < 0 || static_cast<std::int64_t>(matches.size()) < limit)) {
    re2::StringPiece match;
    const std::size_t left = text.size() - at;
    if (!pattern.Match(text, at, text.size(), re2::RE2::UNANCHORED, &match, 1)) break;
    const auto begin = static_cast<std::size_t>(match.data() - text.data());
    const std::size_t end = begin + match.size();
    // Some patterns look far beyond every match: a.*b|a.
    if (!SpendSearch(pattern, left / kBytesPerByteBehindMatch, budget)) return {};
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
