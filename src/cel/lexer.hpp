// Splits an expression into tokens, as the lexer of cel-go's grammar does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cel/source.hpp"

namespace berth::cel {

enum class TokenKind : std::uint8_t {
  kEnd,
  kEquals,
  kNotEquals,
  kIn,
  kLess,
  kLessEquals,
  kGreaterEquals,
  kGreater,
  kAnd,
  kOr,
  kLeftBracket,
  kRightBracket,
  kLeftBrace,
  kRightBrace,
  kLeftParenthesis,
  kRightParenthesis,
  kDot,
  kComma,
  kMinus,
  kNot,
  kQuestion,
  kColon,
  kPlus,
  kStar,
  kSlash,
  kPercent,
  kTrue,
  kFalse,
  kNull,
  kFloat,
  kInt,
  kUint,
  kString,
  kBytes,
  kIdentifier,
  kEscapedIdentifier,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::int32_t begin = 0;  // code points
  std::int32_t end = 0;
};

// All tokens, ending with kEnd. Characters that begin no token are reported and skipped.
std::vector<Token> Tokenize(const Source& source, ErrorList& errors);

// As error messages name a kind of token: "'=='", "IDENTIFIER", "<EOF>".
std::string TokenName(TokenKind kind);

// The value of a string or bytes literal with its quotes and prefix (without `b`); false and an error text if
// an escape sequence is wrong.
bool Unquote(std::string text, bool bytes, std::string& value, std::string& error);

}  // namespace berth::cel
