// The abstract syntax tree of an expression after the expansion of macros.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "cel/source.hpp"
#include "cel/value.hpp"

namespace berth::cel {

enum class ExprKind : std::uint8_t {
  kUnspecified,  // where a syntax error was found
  kLiteral,
  kIdent,
  kSelect,
  kCall,
  kList,
  kMap,
  kStruct,
  kComprehension,
};

struct Expr;

// An entry of a map (key and value) or a field of a struct (name and value).
struct ExprEntry {
  std::int64_t id = 0;
  Expr* key = nullptr;
  std::string field;
  Expr* value = nullptr;
  bool optional = false;
};

// The ids number the nodes in the order in which cel-go numbers them: costs and some error texts depend on
// it.
struct Expr {
  std::int64_t id = 0;
  ExprKind kind = ExprKind::kUnspecified;
  Value literal;
  std::string name;                // identifier, field of a select, function, type of a struct
  Expr* target = nullptr;          // operand of a select, target of a member call
  bool member = false;             // call with a target
  bool test_only = false;          // select that tests presence: has(a.b)
  std::vector<Expr*> args;         // of a call; elements of a list
  std::vector<bool> optionals;     // of a list's elements; empty: none
  std::vector<ExprEntry> entries;  // of a map or struct

  // Comprehension. `second_variable` may be empty.
  std::string variable, second_variable, accumulator;
  Expr* range = nullptr;
  Expr* init = nullptr;
  Expr* condition = nullptr;
  Expr* step = nullptr;
  Expr* result = nullptr;
};

// Owns the nodes of one expression and their positions.
class Ast {
 public:
  explicit Ast(const Source& source) : source_(source) {}
  Ast(const Ast&) = delete;
  Ast& operator=(const Ast&) = delete;

  Expr* root = nullptr;

  // The next id, at an offset of the source.
  std::int64_t NewId(std::int32_t offset);
  // Frees the id; the next node gets it if it is the newest one.
  void DeleteId(std::int64_t id);
  Expr* New(ExprKind kind, std::int64_t id);
  std::int32_t OffsetOf(std::int64_t id) const;  // -1: unknown
  Location LocationOf(std::int64_t id) const;
  std::int64_t ids() const { return static_cast<std::int64_t>(offsets_.size()); }  // greater than every id
  const Source& source() const { return source_; }

 private:
  const Source& source_;
  std::deque<Expr> nodes_;
  std::vector<std::int32_t> offsets_ = {-1};  // by id
};

// Calls `visit(expr)` for the expression and all below it, children first, in cel-go's order.
template <class Visit>
void VisitPostOrder(Expr* expr, const Visit& visit) {
  if (expr->target != nullptr) VisitPostOrder(expr->target, visit);
  for (Expr* child : {expr->range, expr->init, expr->condition, expr->step, expr->result}) {
    if (child != nullptr) VisitPostOrder(child, visit);
  }
  for (Expr* arg : expr->args) VisitPostOrder(arg, visit);
  for (const ExprEntry& entry : expr->entries) {
    if (entry.key != nullptr) VisitPostOrder(entry.key, visit);
    VisitPostOrder(entry.value, visit);
  }
  visit(expr);
}

}  // namespace berth::cel
