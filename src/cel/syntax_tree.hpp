// The parse tree of an expression: the structure of the text before macros are expanded and nodes are
// numbered.
#pragma once

#include <deque>
#include <vector>

#include "cel/lexer.hpp"

namespace berth::cel {

enum class SyntaxKind : std::uint8_t {
  kConditional,  // children: condition, then, else; token: ?
  kOr,           // children: terms; tokens: operators
  kAnd,
  kRelation,  // children: left, right; token: operator
  kCalculation,
  kNot,  // children: operand; tokens: operators
  kNegate,
  kSelect,      // children: operand; token: dot; name
  kMemberCall,  // children: operand, arguments; token: parenthesis; name
  kIndex,       // children: operand, index; token: bracket
  kIdent,       // name
  kGlobalCall,  // children: arguments; token: parenthesis; name
  kList,        // children: elements; token: bracket; optionals
  kMap,         // children: key, value, key, value...; token: brace; tokens: colons; optionals
  kMessage,     // children: values; token: brace; tokens: colons; names: type; fields; optionals
  kLiteral,     // token; signed: begins with a minus
};

struct Syntax {
  SyntaxKind kind;
  std::int32_t begin = 0;
  Token token;
  Token name;
  bool leading_dot = false;
  bool optional = false;
  bool negative = false;
  std::vector<Token> tokens;
  std::vector<Token> names;   // parts of a message's type
  std::vector<Token> fields;  // of a message
  std::vector<bool> optionals;
  std::vector<Syntax*> children;
};

// cel-go's limit of nested rules, and of nested nodes.
inline constexpr int kMaxRecursion = 250;

// Returns the root, or null after an error was added. `nodes` owns the tree.
Syntax* ParseSyntax(const Source& source, std::deque<Syntax>& nodes, ErrorList& errors);

}  // namespace berth::cel
