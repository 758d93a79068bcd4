#include "cel/syntax_tree.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::cel {
namespace {

// Counts the active invocations of a grammar rule.
class RuleDepth {
 public:
  explicit RuleDepth(int& depth) : depth_(depth) { ++depth_; }
  ~RuleDepth() { depth_ -= entered_; }
  RuleDepth(const RuleDepth&) = delete;
  RuleDepth& operator=(const RuleDepth&) = delete;
  // Another level of a left-recursive rule, left together with the first one.
  void Deepen() {
    ++depth_;
    ++entered_;
  }

 private:
  int& depth_;
  int entered_ = 1;
};

// Recursive descent. After an error every function returns null, and the rest of the text is not examined.
class SyntaxParser {
 public:
  SyntaxParser(const Source& source, std::deque<Syntax>& nodes, ErrorList& errors)
      : source_(source), nodes_(nodes), errors_(errors), tokens_(Tokenize(source, errors)) {}

  Syntax* Parse() {
    Syntax* root = Expression();
    if (root != nullptr && Kind() != TokenKind::kEnd) {
      return Unexpected("extraneous input {} expecting <EOF>");
    }
    return errors_.empty() ? root : nullptr;
  }

 private:
  // expr: conditionalOr ('?' conditionalOr ':' expr)?
  Syntax* Expression() {
    const RuleDepth depth(expression_depth_);
    if (!WithinLimits()) return nullptr;
    Syntax* condition = Or();
    if (condition == nullptr || Kind() != TokenKind::kQuestion) return condition;
    Syntax* node = New(SyntaxKind::kConditional, condition->begin);
    node->token = Take();
    return Child(node, condition) && Child(node, Or()) && Expect(TokenKind::kColon) &&
                   Child(node, Expression())
               ? node
               : nullptr;
  }

  Syntax* Or() {
    return Terms(SyntaxKind::kOr, TokenKind::kOr, [this] { return And(); });
  }
  Syntax* And() {
    return Terms(SyntaxKind::kAnd, TokenKind::kAnd, [this] { return Relation(1); });
  }

  template <class Term>
  Syntax* Terms(SyntaxKind kind, TokenKind op, Term term) {
    Syntax* first = term();
    if (first == nullptr || Kind() != op) return first;
    Syntax* node = New(kind, first->begin);
    node->children.push_back(first);
    while (Kind() == op) {
      node->tokens.push_back(Take());
      if (!Child(node, term())) return nullptr;
    }
    return node;
  }

  // relation: calc | relation op relation, left-associative.
  Syntax* Relation(int precedence) {
    RuleDepth depth(relation_depth_);
    if (!WithinLimits()) return nullptr;
    Syntax* left = Calculation(1);
    while (left != nullptr && precedence == 1 && IsRelation(Kind())) {
      depth.Deepen();
      if (!WithinLimits()) return nullptr;
      Syntax* node = New(SyntaxKind::kRelation, left->begin);
      node->token = Take();
      left = Child(node, left) && Child(node, Relation(2)) ? node : nullptr;
    }
    return left;
  }

  // calc: unary | calc ('*'|'/'|'%') calc | calc ('+'|'-') calc, left-associative.
  Syntax* Calculation(int precedence) {
    RuleDepth depth(calculation_depth_);
    if (!WithinLimits()) return nullptr;
    Syntax* left = Unary();
    while (left != nullptr && PrecedenceOf(Kind()) >= precedence) {
      depth.Deepen();
      if (!WithinLimits()) return nullptr;
      const int next = PrecedenceOf(Kind()) + 1;
      Syntax* node = New(SyntaxKind::kCalculation, left->begin);
      node->token = Take();
      left = Child(node, left) && Child(node, Calculation(next)) ? node : nullptr;
    }
    return left;
  }

  // unary: member | '!'+ member | '-'+ member. One minus before a number belongs to the number.
  Syntax* Unary() {
    const TokenKind op = Kind();
    const bool signed_number = op == TokenKind::kMinus && IsSignedNumber(KindAt(1));
    if ((op != TokenKind::kNot && op != TokenKind::kMinus) || signed_number) return Member();
    Syntax* node = New(op == TokenKind::kNot ? SyntaxKind::kNot : SyntaxKind::kNegate, Peek().begin);
    while (Kind() == op) node->tokens.push_back(Take());
    return Child(node, Member()) ? node : nullptr;
  }

  Syntax* Member() {
    RuleDepth depth(member_depth_);
    if (!WithinLimits()) return nullptr;
    Syntax* left = Primary();
    while (left != nullptr && (Kind() == TokenKind::kDot || Kind() == TokenKind::kLeftBracket)) {
      depth.Deepen();
      if (!WithinLimits()) return nullptr;
      left = Kind() == TokenKind::kDot ? SelectOrCall(left) : Index(left);
    }
    return left;
  }

  Syntax* SelectOrCall(Syntax* operand) {
    Syntax* node = New(SyntaxKind::kSelect, operand->begin);
    node->token = Take();
    node->children.push_back(operand);
    node->optional = Accept(TokenKind::kQuestion);
    if (Kind() != TokenKind::kIdentifier && (Kind() != TokenKind::kEscapedIdentifier)) {
      return Unexpected(node->optional ? "mismatched input {} expecting {{IDENTIFIER, ESC_IDENTIFIER}}"
                                       : "no viable alternative at input '.{}'");
    }
    node->name = Take();
    if (node->optional || node->name.kind != TokenKind::kIdentifier ||
        Kind() != TokenKind::kLeftParenthesis) {
      return node;
    }
    node->kind = SyntaxKind::kMemberCall;
    node->token = Take();
    return Arguments(node);
  }

  Syntax* Index(Syntax* operand) {
    Syntax* node = New(SyntaxKind::kIndex, operand->begin);
    node->token = Take();
    node->optional = Accept(TokenKind::kQuestion);
    return Child(node, operand) && Child(node, Expression()) && Expect(TokenKind::kRightBracket) ? node
                                                                                                 : nullptr;
  }

  Syntax* Arguments(Syntax* node) {
    if (Accept(TokenKind::kRightParenthesis)) return node;
    do {
      if (!Child(node, Expression())) return nullptr;
    } while (Accept(TokenKind::kComma));
    return Expect(TokenKind::kRightParenthesis) ? node : nullptr;
  }

  Syntax* Primary() {
    switch (Kind()) {
      case TokenKind::kDot:
      case TokenKind::kIdentifier:
        return Named();
      case TokenKind::kLeftParenthesis: {
        Take();
        Syntax* nested = Expression();
        return nested != nullptr && Expect(TokenKind::kRightParenthesis) ? nested : nullptr;
      }
      case TokenKind::kLeftBracket:
        return List();
      case TokenKind::kLeftBrace:
        return Map();
      case TokenKind::kMinus:
      case TokenKind::kInt:
      case TokenKind::kUint:
      case TokenKind::kFloat:
      case TokenKind::kString:
      case TokenKind::kBytes:
      case TokenKind::kTrue:
      case TokenKind::kFalse:
      case TokenKind::kNull:
        return Literal();
      default:
        return Unexpected(
            "mismatched input {} expecting {{'[', '{{', '(', '.', '-', '!', 'true', 'false', 'null', "
            "NUM_FLOAT, "
            "NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}}");
    }
  }

  Syntax* Literal() {
    Syntax* node = New(SyntaxKind::kLiteral, Peek().begin);
    node->negative = Kind() == TokenKind::kMinus;
    if (node->negative) Take();
    if (node->negative && !IsSignedNumber(Kind())) return Unexpected("no viable alternative at input '-{}'");
    node->token = Take();
    return node;
  }

  // An identifier, a call, or a message: '.'? IDENTIFIER ('.' IDENTIFIER)* '{'.
  Syntax* Named() {
    Syntax* node = New(SyntaxKind::kIdent, Peek().begin);
    node->leading_dot = Accept(TokenKind::kDot);
    if (Kind() != TokenKind::kIdentifier) return Unexpected("mismatched input {} expecting IDENTIFIER");
    std::size_t ahead = 1;
    while (KindAt(ahead) == TokenKind::kDot && KindAt(ahead + 1) == TokenKind::kIdentifier) ahead += 2;
    if (KindAt(ahead) == TokenKind::kLeftBrace) return Message(node);
    node->name = Take();
    if (Kind() != TokenKind::kLeftParenthesis) return node;
    node->kind = SyntaxKind::kGlobalCall;
    node->token = Take();
    return Arguments(node);
  }

  Syntax* Message(Syntax* node) {
    node->kind = SyntaxKind::kMessage;
    do {
      node->names.push_back(Take());
    } while (Accept(TokenKind::kDot));
    node->token = Take();
    while (Kind() != TokenKind::kRightBrace && Kind() != TokenKind::kComma) {
      node->optionals.push_back(Accept(TokenKind::kQuestion));
      if (Kind() != TokenKind::kIdentifier && Kind() != TokenKind::kEscapedIdentifier) {
        return Unexpected("extraneous input {} expecting {{'}}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}}");
      }
      node->fields.push_back(Take());
      if (!Colon(node) || !Child(node, Expression())) return nullptr;
      if (!AcceptSeparator()) break;
    }
    Accept(TokenKind::kComma);
    return Expect(TokenKind::kRightBrace) ? node : nullptr;
  }

  Syntax* List() {
    Syntax* node = New(SyntaxKind::kList, Peek().begin);
    node->token = Take();
    while (Kind() != TokenKind::kRightBracket && Kind() != TokenKind::kComma) {
      node->optionals.push_back(Accept(TokenKind::kQuestion));
      if (!Child(node, Expression())) return nullptr;
      if (!AcceptSeparator()) break;
    }
    Accept(TokenKind::kComma);
    return Expect(TokenKind::kRightBracket) ? node : nullptr;
  }

  Syntax* Map() {
    Syntax* node = New(SyntaxKind::kMap, Peek().begin);
    node->token = Take();
    while (Kind() != TokenKind::kRightBrace && Kind() != TokenKind::kComma) {
      node->optionals.push_back(Accept(TokenKind::kQuestion));
      if (!Child(node, Expression()) || !Colon(node) || !Child(node, Expression())) return nullptr;
      if (!AcceptSeparator()) break;
    }
    Accept(TokenKind::kComma);
    return Expect(TokenKind::kRightBrace) ? node : nullptr;
  }

  // A comma before another element; a trailing comma stays.
  bool AcceptSeparator() {
    if (Kind() != TokenKind::kComma) return false;
    const TokenKind next = KindAt(1);
    if (next == TokenKind::kRightBrace || next == TokenKind::kRightBracket) return false;
    Take();
    return true;
  }

  bool Colon(Syntax* node) {
    if (Kind() == TokenKind::kColon) node->tokens.push_back(Peek());
    return Expect(TokenKind::kColon);
  }

  // ---- tokens

  const Token& Peek() const { return tokens_[next_]; }
  TokenKind Kind() const { return tokens_[next_].kind; }
  TokenKind KindAt(std::size_t ahead) const {
    return tokens_[std::min(next_ + ahead, tokens_.size() - 1)].kind;
  }
  Token Take() {
    const Token token = tokens_[next_];
    if (token.kind != TokenKind::kEnd) ++next_;
    return token;
  }
  bool Accept(TokenKind kind) {
    if (Kind() != kind) return false;
    Take();
    return true;
  }
  bool Expect(TokenKind kind) {
    if (Accept(kind)) return true;
    Unexpected("mismatched input {} expecting " +
               (kind == TokenKind::kRightBrace ? "'}}'" : TokenName(kind)));
    return false;
  }

  static bool IsRelation(TokenKind kind) { return kind >= TokenKind::kEquals && kind <= TokenKind::kGreater; }
  static bool IsSignedNumber(TokenKind kind) { return kind == TokenKind::kInt || kind == TokenKind::kFloat; }
  static int PrecedenceOf(TokenKind kind) {
    if (kind == TokenKind::kStar || kind == TokenKind::kSlash || kind == TokenKind::kPercent) return 2;
    return kind == TokenKind::kPlus || kind == TokenKind::kMinus ? 1 : 0;
  }

  // ---- nodes and errors

  Syntax* New(SyntaxKind kind, std::int32_t begin) {
    nodes_.push_back({.kind = kind,
                      .begin = begin,
                      .token = {},
                      .name = {},
                      .tokens = {},
                      .names = {},
                      .fields = {},
                      .optionals = {},
                      .children = {}});
    return &nodes_.back();
  }

  static bool Child(Syntax* node, Syntax* child) {
    if (child == nullptr) return false;
    node->children.push_back(child);
    return true;
  }

  Syntax* Unexpected(const std::string& format) {
    const Token& token = Peek();
    std::string text = token.kind == TokenKind::kEnd ? "<EOF>"
                                                     : source_.Slice(static_cast<std::size_t>(token.begin),
                                                                     static_cast<std::size_t>(token.end));
    if (format.find("'.{}'") == format.npos && format.find("'-{}'") == format.npos) text = "'" + text + "'";
    errors_.Add(source_.LocationOf(token.begin), "Syntax error: " + fmt::format(fmt::runtime(format), text));
    return nullptr;
  }

  bool WithinLimits() {
    const int deepest = std::max({expression_depth_, relation_depth_, calculation_depth_, member_depth_});
    if (deepest <= kMaxRecursion) return true;
    errors_.Add({}, fmt::format("expression recursion limit exceeded: {}", kMaxRecursion));
    return false;
  }

  const Source& source_;
  std::deque<Syntax>& nodes_;
  ErrorList& errors_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  int expression_depth_ = 0;
  int relation_depth_ = 0;
  int calculation_depth_ = 0;
  int member_depth_ = 0;
};

}  // namespace

Syntax* ParseSyntax(const Source& source, std::deque<Syntax>& nodes, ErrorList& errors) {
  return SyntaxParser(source, nodes, errors).Parse();
}

}  // namespace berth::cel
