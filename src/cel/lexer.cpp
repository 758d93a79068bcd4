#include "cel/lexer.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/utf8.hpp"

namespace berth::cel {
namespace {

bool IsLetter(char32_t c) { return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z'); }
bool IsDecimal(char32_t c) { return c >= U'0' && c <= U'9'; }
bool IsHex(char32_t c) { return IsDecimal(c) || (c >= U'a' && c <= U'f') || (c >= U'A' && c <= U'F'); }
bool IsOctal(char32_t c) { return c >= U'0' && c <= U'7'; }
bool IsBlank(char32_t c) { return c == U'\t' || c == U' ' || c == U'\r' || c == U'\n' || c == U'\f'; }

constexpr std::array<std::string_view, 36> kTokenNames = {
    "<EOF>",  "'=='",  "'!='",       "'in'",          "'<'",    "'<='",      "'>='",    "'>'",
    "'&&'",   "'||'",  "'['",        "']'",           "'{'",    "'}'",       "'('",     "')'",
    "'.'",    "','",   "'-'",        "'!'",           "'?'",    "':'",       "'+'",     "'*'",
    "'/'",    "'%'",   "'true'",     "'false'",       "'null'", "NUM_FLOAT", "NUM_INT", "NUM_UINT",
    "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER"};

struct Symbol {
  std::u32string_view text;
  TokenKind kind;
};
// Longer ones first.
constexpr std::array kSymbols = {
    Symbol{U"==", TokenKind::kEquals},
    Symbol{U"!=", TokenKind::kNotEquals},
    Symbol{U"<=", TokenKind::kLessEquals},
    Symbol{U">=", TokenKind::kGreaterEquals},
    Symbol{U"&&", TokenKind::kAnd},
    Symbol{U"||", TokenKind::kOr},
    Symbol{U"<", TokenKind::kLess},
    Symbol{U">", TokenKind::kGreater},
    Symbol{U"[", TokenKind::kLeftBracket},
    Symbol{U"]", TokenKind::kRightBracket},
    Symbol{U"{", TokenKind::kLeftBrace},
    Symbol{U"}", TokenKind::kRightBrace},
    Symbol{U"(", TokenKind::kLeftParenthesis},
    Symbol{U")", TokenKind::kRightParenthesis},
    Symbol{U".", TokenKind::kDot},
    Symbol{U",", TokenKind::kComma},
    Symbol{U"-", TokenKind::kMinus},
    Symbol{U"!", TokenKind::kNot},
    Symbol{U"?", TokenKind::kQuestion},
    Symbol{U":", TokenKind::kColon},
    Symbol{U"+", TokenKind::kPlus},
    Symbol{U"*", TokenKind::kStar},
    Symbol{U"/", TokenKind::kSlash},
    Symbol{U"%", TokenKind::kPercent},
};

// Finds the longest token at a position. Every function returns the end of what it recognizes, or 0.
class Recognizer {
 public:
  explicit Recognizer(const Source& source) : source_(source) {}

  // The number of code points that the grammar accepts as the beginning of some token, for error messages.
  Token Next(std::size_t at) const {
    Token best;
    const auto consider = [&](TokenKind kind, std::size_t end) {
      if (end > static_cast<std::size_t>(best.end)) {
        best = {kind, static_cast<std::int32_t>(at), static_cast<std::int32_t>(end)};
      }
    };
    for (const Symbol& symbol : kSymbols) {
      if (StartsWith(at, symbol.text)) consider(symbol.kind, at + symbol.text.size());
    }
    consider(TokenKind::kFloat, Float(at));
    consider(TokenKind::kInt, Integer(at));
    if (const std::size_t end = Integer(at); end != 0 && (At(end) == U'u' || At(end) == U'U')) {
      consider(TokenKind::kUint, end + 1);
    }
    consider(TokenKind::kString, String(at));
    if (At(at) == U'b' || At(at) == U'B') consider(TokenKind::kBytes, String(at + 1));
    if (const std::size_t end = Identifier(at); end != 0) consider(KeywordOr(at, end), end);
    consider(TokenKind::kEscapedIdentifier, EscapedIdentifier(at));
    return best;
  }

 private:
  char32_t At(std::size_t i) const { return source_.At(i); }

  bool StartsWith(std::size_t at, std::u32string_view text) const {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (At(at + i) != text[i]) return false;
    }
    return true;
  }

  std::size_t Digits(std::size_t at) const {
    while (IsDecimal(At(at))) ++at;
    return at;
  }

  std::size_t Exponent(std::size_t at) const {
    if (At(at) != U'e' && At(at) != U'E') return 0;
    const std::size_t digits = at + (At(at + 1) == U'+' || At(at + 1) == U'-' ? 2 : 1);
    const std::size_t end = Digits(digits);
    return end > digits ? end : 0;
  }

  std::size_t Float(std::size_t at) const {
    const std::size_t whole = Digits(at);
    if (At(whole) == U'.' && IsDecimal(At(whole + 1))) {
      const std::size_t fraction = Digits(whole + 1);
      return std::max(fraction, Exponent(fraction));
    }
    return whole > at ? Exponent(whole) : 0;
  }

  std::size_t Integer(std::size_t at) const {
    if (At(at) == U'0' && At(at + 1) == U'x' && IsHex(At(at + 2))) {
      std::size_t end = at + 2;
      while (IsHex(At(end))) ++end;
      return end;
    }
    const std::size_t end = Digits(at);
    return end > at ? end : 0;
  }

  std::size_t Identifier(std::size_t at) const {
    if (!IsLetter(At(at)) && At(at) != U'_') return 0;
    while (IsLetter(At(at)) || IsDecimal(At(at)) || At(at) == U'_') ++at;
    return at;
  }

  std::size_t EscapedIdentifier(std::size_t at) const {
    if (At(at) != U'`') return 0;
    std::size_t end = at + 1;
    const auto allowed = [](char32_t c) {
      return IsLetter(c) || IsDecimal(c) || c == U'_' || c == U'.' || c == U'-' || c == U'/' || c == U' ';
    };
    while (allowed(At(end))) ++end;
    return end > at + 1 && At(end) == U'`' ? end + 1 : 0;
  }

  TokenKind KeywordOr(std::size_t begin, std::size_t end) const {
    const auto is = [&](std::u32string_view word) {
      return end - begin == word.size() && StartsWith(begin, word);
    };
    if (is(U"in")) return TokenKind::kIn;
    if (is(U"true")) return TokenKind::kTrue;
    if (is(U"false")) return TokenKind::kFalse;
    if (is(U"null")) return TokenKind::kNull;
    return TokenKind::kIdentifier;
  }

  std::size_t String(std::size_t at) const {
    const bool raw = At(at) == U'r' || At(at) == U'R';
    const std::size_t open = at + raw;
    const char32_t quote = At(open);
    if (quote != U'"' && quote != U'\'') return 0;
    const bool triple = At(open + 1) == quote && At(open + 2) == quote;
    const std::size_t longest = triple ? Quoted(open + 3, quote, raw, true) : 0;
    return std::max(longest, Quoted(open + 1, quote, raw, false));
  }

  // From behind the opening quotes.
  std::size_t Quoted(std::size_t at, char32_t quote, bool raw, bool triple) const {
    while (at < source_.size()) {
      const char32_t c = At(at);
      if (c == quote && (!triple || (At(at + 1) == quote && At(at + 2) == quote)))
        return at + (triple ? 3 : 1);
      if (!triple && (c == U'\n' || c == U'\r')) return 0;
      if (c == U'\\' && !raw) {
        const std::size_t length = Escape(at);
        if (length == 0) return 0;
        at += length;
      } else {
        ++at;
      }
    }
    return 0;
  }

  std::size_t Escape(std::size_t at) const {
    const char32_t c = At(at + 1);
    const auto hex = [&](std::size_t count) -> std::size_t {
      for (std::size_t i = 0; i < count; ++i) {
        if (!IsHex(At(at + 2 + i))) return 0;
      }
      return count + 2;
    };
    switch (c) {
      case U'x':
      case U'X':
        return hex(2);
      case U'u':
        return hex(4);
      case U'U':
        return hex(8);
      case U'0':
      case U'1':
      case U'2':
      case U'3':
        return IsOctal(At(at + 2)) && IsOctal(At(at + 3)) ? 4 : 0;
      default:
        return std::u32string_view(U"abfnrtv\"'\\?`").find(c) != std::u32string_view::npos ? 2 : 0;
    }
  }

  const Source& source_;
};

std::size_t SkipBlanks(const Source& source, std::size_t at) {
  while (at < source.size()) {
    if (IsBlank(source.At(at))) {
      ++at;
    } else if (source.At(at) == U'/' && source.At(at + 1) == U'/') {
      while (at < source.size() && source.At(at) != U'\n') ++at;
    } else {
      break;
    }
  }
  return at;
}

// ---- literals

void NormalizeLineBreaks(std::string& text) {
  std::string normalized;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      normalized += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
    normalized += '\n';
  }
  text = std::move(normalized);
}

// Appends the character of the escape sequence at the beginning of `text` and removes it.
bool Unescape(std::string_view& text, bool bytes, std::string& value, std::string& error) {
  const char kind = text.size() > 1 ? text[1] : '\0';
  const auto number = [&](std::size_t first, std::size_t count, unsigned base) {
    char32_t code = 0;
    for (const char c : text.substr(first, count)) {
      code = code * base + static_cast<char32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    text.remove_prefix(first + count);
    return code;
  };
  const auto append = [&](char32_t code, bool as_byte) {
    if (!bytes && (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))) {
      error = "invalid unicode code point";
      return false;
    }
    if (as_byte)
      value += static_cast<char>(code);
    else
      AppendUtf8(value, code);
    return true;
  };
  switch (kind) {
    case 'x':
    case 'X':
      return append(number(2, 2, 16), bytes);
    case 'u':
    case 'U':
      if (bytes) {
        error = "unable to unescape string";
        return false;
      }
      return append(number(2, kind == 'u' ? 4 : 8, 16), false);
    case '0':
    case '1':
    case '2':
    case '3':
      return append(number(1, 3, 8), bytes);
    default:
      break;
  }
  constexpr std::string_view kNames = "abfnrtv";
  constexpr std::string_view kCharacters = "\a\b\f\n\r\t\v";
  const std::size_t at = kNames.find(kind);
  value += at == kNames.npos ? kind : kCharacters[at];
  text.remove_prefix(2);
  return true;
}

}  // namespace

std::vector<Token> Tokenize(const Source& source, ErrorList& errors) {
  const Recognizer recognizer(source);
  std::vector<Token> tokens;
  std::size_t at = SkipBlanks(source, 0);
  while (at < source.size()) {
    const Token token = recognizer.Next(at);
    if (token.end == 0) {
      errors.Add(source.LocationOf(static_cast<std::int32_t>(at)),
                 "Syntax error: token recognition error at: '" + source.Slice(at, at + 1) + "'");
      ++at;
    } else {
      tokens.push_back(token);
      at = static_cast<std::size_t>(token.end);
    }
    at = SkipBlanks(source, at);
  }
  const auto end = static_cast<std::int32_t>(source.size());
  tokens.push_back({TokenKind::kEnd, end, end});
  return tokens;
}

std::string TokenName(TokenKind kind) { return std::string(kTokenNames[static_cast<std::size_t>(kind)]); }

bool Unquote(std::string text, bool bytes, std::string& value, std::string& error) {
  NormalizeLineBreaks(text);
  const bool raw = text[0] == 'r' || text[0] == 'R';
  std::string_view body = text;
  if (raw) body.remove_prefix(1);
  const bool triple = body.size() >= 6 && (body.starts_with("\"\"\"") || body.starts_with("'''"));
  const std::size_t quotes = triple ? 3 : 1;
  body = body.substr(quotes, body.size() - 2 * quotes);
  value.clear();
  if (raw) {
    value = body;
    return true;
  }
  while (!body.empty()) {
    const std::size_t backslash = body.find('\\');
    value += body.substr(0, backslash);
    body.remove_prefix(std::min(backslash, body.size()));
    if (!body.empty() && !Unescape(body, bytes, value, error)) return false;
  }
  return true;
}

}  // namespace berth::cel
