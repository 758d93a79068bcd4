#include "cel/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "cel/macros.hpp"
#include "cel/numbers.hpp"
#include "cel/syntax_tree.hpp"

namespace berth::cel {
namespace {

constexpr std::array<std::string_view, 21> kReserved = {
    "as",  "break", "const",     "continue", "else",    "false",  "for",  "function", "if",   "import", "in",
    "let", "loop",  "namespace", "null",     "package", "return", "true", "var",      "void", "while"};

std::string_view OperatorOf(TokenKind kind) {
  switch (kind) {
    case TokenKind::kEquals:
      return operators::kEquals;
    case TokenKind::kNotEquals:
      return operators::kNotEquals;
    case TokenKind::kIn:
      return operators::kIn;
    case TokenKind::kLess:
      return "_<_";
    case TokenKind::kLessEquals:
      return "_<=_";
    case TokenKind::kGreater:
      return "_>_";
    case TokenKind::kGreaterEquals:
      return "_>=_";
    case TokenKind::kPlus:
      return operators::kAdd;
    case TokenKind::kMinus:
      return "_-_";
    case TokenKind::kStar:
      return "_*_";
    case TokenKind::kSlash:
      return "_/_";
    default:
      return "_%_";
  }
}

// Builds the abstract tree from the parse tree, numbering nodes in cel-go's order.
class TreeBuilder {
 public:
  TreeBuilder(Ast& ast, ErrorList& errors) : ast_(ast), errors_(errors) {}

  Expr* Build(const Syntax* syntax) {
    const bool counted = syntax->kind == SyntaxKind::kConditional || syntax->kind == SyntaxKind::kRelation ||
                         syntax->kind == SyntaxKind::kCalculation || syntax->kind == SyntaxKind::kSelect ||
                         syntax->kind == SyntaxKind::kMemberCall || syntax->kind == SyntaxKind::kIndex;
    if (counted && ++depth_ > kMaxRecursion) {
      if (!aborted_) errors_.Add({}, "max recursion depth exceeded");
      aborted_ = true;
    }
    Expr* expr = aborted_ ? Unspecified(syntax->begin) : BuildKind(syntax);
    depth_ -= counted;
    return expr;
  }

 private:
  Expr* BuildKind(const Syntax* s) {
    switch (s->kind) {
      case SyntaxKind::kConditional:
        return Conditional(s);
      case SyntaxKind::kOr:
        return Logic(s, operators::kOr);
      case SyntaxKind::kAnd:
        return Logic(s, operators::kAnd);
      case SyntaxKind::kRelation:
      case SyntaxKind::kCalculation: {
        Expr* left = Build(s->children[0]);
        const std::int64_t id = ast_.NewId(s->token.begin);
        Expr* right = Build(s->children[1]);
        return CallOrMacro(id, OperatorOf(s->token.kind), nullptr, {left, right});
      }
      case SyntaxKind::kNot:
        return Unary(s, operators::kNot);
      case SyntaxKind::kNegate:
        return Unary(s, operators::kNegate);
      case SyntaxKind::kSelect:
        return Select(s);
      case SyntaxKind::kMemberCall: {
        Expr* target = Build(s->children[0]);
        const std::int64_t id = ast_.NewId(s->token.begin);
        return CallOrMacro(id, Text(s->name), target, BuildAll(s, 1));
      }
      case SyntaxKind::kIndex: {
        Expr* operand = Build(s->children[0]);
        const std::int64_t id = ast_.NewId(s->token.begin);
        Expr* index = Build(s->children[1]);
        return CallOrMacro(id, s->optional ? operators::kOptionalIndex : operators::kIndex, nullptr,
                           {operand, index});
      }
      case SyntaxKind::kIdent:
      case SyntaxKind::kGlobalCall:
        return Named(s);
      case SyntaxKind::kList:
        return List(s);
      case SyntaxKind::kMap:
        return Map(s);
      case SyntaxKind::kMessage:
        return Message(s);
      case SyntaxKind::kLiteral:
        return Literal(s);
    }
    BERTH_CHECK(false, static_cast<int>(s->kind));
  }

  Expr* Conditional(const Syntax* s) {
    Expr* condition = Build(s->children[0]);
    const std::int64_t id = ast_.NewId(s->token.begin);
    Expr* then = Build(s->children[1]);
    Expr* otherwise = Build(s->children[2]);
    return CallOrMacro(id, operators::kConditional, nullptr, {condition, then, otherwise});
  }

  // A balanced tree of binary calls, so that long chains are not deep.
  Expr* Logic(const Syntax* s, std::string_view function) {
    std::vector<Expr*> terms = {Build(s->children[0])};
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < s->tokens.size(); ++i) {
      terms.push_back(Build(s->children[i + 1]));
      ids.push_back(ast_.NewId(s->tokens[i].begin));
    }
    return Balanced(function, terms, ids, 0, ids.size() - 1);
  }

  Expr* Balanced(std::string_view function, const std::vector<Expr*>& terms,
                 const std::vector<std::int64_t>& ids, std::size_t low, std::size_t high) {
    const std::size_t middle = (low + high + 1) / 2;
    Expr* left = middle == low ? terms[middle] : Balanced(function, terms, ids, low, middle - 1);
    Expr* right = middle == high ? terms[middle + 1] : Balanced(function, terms, ids, middle + 1, high);
    return Call(ids[middle], function, {left, right});
  }

  Expr* Unary(const Syntax* s, std::string_view function) {
    if (s->tokens.size() % 2 == 0) return Build(s->children[0]);
    const std::int64_t id = ast_.NewId(s->tokens[0].begin);
    return CallOrMacro(id, function, nullptr, {Build(s->children[0])});
  }

  Expr* Select(const Syntax* s) {
    Expr* operand = Build(s->children[0]);
    std::string field = Text(s->name);
    if (s->name.kind == TokenKind::kEscapedIdentifier) field = field.substr(1, field.size() - 2);
    if (s->optional) {
      Expr* name = ast_.New(ExprKind::kLiteral, ast_.NewId(s->name.begin));
      name->literal = Value::String(std::move(field));
      return Call(ast_.NewId(s->token.begin), operators::kOptionalSelect, {operand, name});
    }
    Expr* select = ast_.New(ExprKind::kSelect, ast_.NewId(s->token.begin));
    select->target = operand;
    select->name = std::move(field);
    return select;
  }

  Expr* Named(const Syntax* s) {
    const std::string name = Text(s->name);
    if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end()) {
      return Fail(s->begin, "reserved identifier: " + name);
    }
    const std::string qualified = s->leading_dot ? "." + name : name;
    if (s->kind == SyntaxKind::kGlobalCall) {
      const std::int64_t id = ast_.NewId(s->token.begin);
      return CallOrMacro(id, qualified, nullptr, BuildAll(s, 0));
    }
    Expr* ident = ast_.New(ExprKind::kIdent, ast_.NewId(s->name.begin));
    ident->name = qualified;
    return ident;
  }

  Expr* List(const Syntax* s) {
    Expr* list = ast_.New(ExprKind::kList, ast_.NewId(s->token.begin));
    list->args = BuildAll(s, 0);
    if (std::find(s->optionals.begin(), s->optionals.end(), true) != s->optionals.end()) {
      list->optionals = s->optionals;
    }
    return list;
  }

  Expr* Map(const Syntax* s) {
    Expr* map = ast_.New(ExprKind::kMap, ast_.NewId(s->token.begin));
    for (std::size_t i = 0; i < s->tokens.size(); ++i) {
      ExprEntry entry;
      entry.id = ast_.NewId(s->tokens[i].begin);
      entry.key = Build(s->children[2 * i]);
      entry.value = Build(s->children[2 * i + 1]);
      entry.optional = s->optionals[i];
      map->entries.push_back(std::move(entry));
    }
    return map;
  }

  Expr* Message(const Syntax* s) {
    std::string name = s->leading_dot ? "." : "";
    for (std::size_t i = 0; i < s->names.size(); ++i) name += (i > 0 ? "." : "") + Text(s->names[i]);
    Expr* message = ast_.New(ExprKind::kStruct, ast_.NewId(s->token.begin));
    message->name = std::move(name);
    for (std::size_t i = 0; i < s->tokens.size(); ++i) {
      ExprEntry entry;
      entry.id = ast_.NewId(s->tokens[i].begin);
      entry.field = Text(s->fields[i]);
      if (s->fields[i].kind == TokenKind::kEscapedIdentifier) {
        entry.field = entry.field.substr(1, entry.field.size() - 2);
      }
      entry.value = Build(s->children[i]);
      entry.optional = s->optionals[i];
      message->entries.push_back(std::move(entry));
    }
    return message;
  }

  Expr* Literal(const Syntax* s) {
    Value value;
    const std::string text = Text(s->token);
    switch (s->token.kind) {
      case TokenKind::kTrue:
        value = Value::Bool(true);
        break;
      case TokenKind::kFalse:
        value = Value::Bool(false);
        break;
      case TokenKind::kNull:
        value = Value::Null();
        break;
      case TokenKind::kInt: {
        const bool hex = text.starts_with("0x");
        const auto number = ParseInt((s->negative ? "-" : "") + text.substr(hex ? 2 : 0), hex ? 16 : 10);
        if (!number) return Fail(s->begin, "invalid int literal");
        value = Value::Int(*number);
        break;
      }
      case TokenKind::kUint: {
        const bool hex = text.starts_with("0x");
        const auto number =
            ParseUint(std::string_view(text).substr(hex ? 2 : 0, text.size() - (hex ? 3 : 1)), hex ? 16 : 10);
        if (!number) return Fail(s->begin, "invalid uint literal");
        value = Value::Uint(*number);
        break;
      }
      case TokenKind::kFloat: {
        const auto number = ParseDouble((s->negative ? "-" : "") + text);
        if (!number) return Fail(s->begin, "invalid double literal");
        value = Value::Double(*number);
        break;
      }
      default: {
        const bool bytes = s->token.kind == TokenKind::kBytes;
        std::string unquoted;
        std::string error;
        if (!Unquote(bytes ? text.substr(1) : text, bytes, unquoted, error)) Fail(s->begin, error);
        value = bytes ? Value::Bytes(std::move(unquoted)) : Value::String(std::move(unquoted));
        break;
      }
    }
    Expr* literal = ast_.New(ExprKind::kLiteral, ast_.NewId(s->begin));
    literal->literal = std::move(value);
    return literal;
  }

  // ---- helpers

  std::string Text(const Token& token) const {
    return ast_.source().Slice(static_cast<std::size_t>(token.begin), static_cast<std::size_t>(token.end));
  }

  std::vector<Expr*> BuildAll(const Syntax* s, std::size_t from) {
    std::vector<Expr*> exprs;
    for (std::size_t i = from; i < s->children.size(); ++i) exprs.push_back(Build(s->children[i]));
    return exprs;
  }

  Expr* Call(std::int64_t id, std::string_view function, std::vector<Expr*> args) {
    Expr* call = ast_.New(ExprKind::kCall, id);
    call->name = function;
    call->args = std::move(args);
    return call;
  }

  Expr* CallOrMacro(std::int64_t id, std::string_view function, Expr* target, std::vector<Expr*> args) {
    std::optional<MacroError> error;
    Expr* expanded = ExpandMacro(ast_, id, function, target, args, error);
    if (error) {
      const std::int32_t offset = ast_.OffsetOf(error->id);
      ast_.DeleteId(id);
      return Fail(offset, error->message);
    }
    if (expanded != nullptr) {
      ast_.DeleteId(id);
      return expanded;
    }
    Expr* call = Call(id, function, std::move(args));
    call->target = target;
    call->member = target != nullptr;
    return call;
  }

  Expr* Unspecified(std::int32_t offset) { return ast_.New(ExprKind::kUnspecified, ast_.NewId(offset)); }

  Expr* Fail(std::int32_t offset, std::string message) {
    Expr* expr = Unspecified(offset);
    errors_.Add(offset < 0 ? Location{} : ast_.source().LocationOf(offset), std::move(message));
    return expr;
  }

  Ast& ast_;
  ErrorList& errors_;
  int depth_ = 0;
  bool aborted_ = false;
};

}  // namespace

std::int64_t Ast::NewId(std::int32_t offset) {
  offsets_.push_back(offset);
  return static_cast<std::int64_t>(offsets_.size()) - 1;
}

void Ast::DeleteId(std::int64_t id) {
  offsets_[static_cast<std::size_t>(id)] = -1;
  if (id == ids() - 1) offsets_.pop_back();
}

Expr* Ast::New(ExprKind kind, std::int64_t id) {
  Expr& expr = nodes_.emplace_back();
  expr.kind = kind;
  expr.id = id;
  return &expr;
}

std::int32_t Ast::OffsetOf(std::int64_t id) const {
  return id < ids() ? offsets_[static_cast<std::size_t>(id)] : -1;
}

Location Ast::LocationOf(std::int64_t id) const {
  const std::int32_t offset = OffsetOf(id);
  return offset < 0 ? Location{} : source_.LocationOf(offset);
}

void Parse(Ast& ast, ErrorList& errors) {
  std::deque<Syntax> nodes;
  const Syntax* syntax = ParseSyntax(ast.source(), nodes, errors);
  if (syntax == nullptr) return;
  ast.root = TreeBuilder(ast, errors).Build(syntax);
}

}  // namespace berth::cel
