#include "cel/macros.hpp"

#include <array>

#include "cel/parser.hpp"

namespace berth::cel {
namespace {

constexpr std::string_view kAccumulator = "@result";
constexpr std::string_view kOldAccumulator = "__result__";
constexpr std::string_view kUnused = "#unused";
// Expressions of 10 KiB have about 15,000 nodes, except for those that nest macros which copy their target.
constexpr std::int64_t kMostNodes = 50'000;

// Creates the nodes of an expansion. cel-go numbers a node after its arguments: callers pass nodes that
// exist.
class Expansion {
 public:
  Expansion(Ast& ast, std::int64_t call_id, std::optional<MacroError>& error)
      : ast_(ast), call_id_(call_id), error_(error) {}

  Expr* Fail(const Expr* at, std::string message) {
    error_ = MacroError{at->id, std::move(message)};
    return nullptr;
  }

  Expr* Literal(Value value) {
    Expr* expr = New(ExprKind::kLiteral);
    expr->literal = std::move(value);
    return expr;
  }
  Expr* Ident(std::string_view name) {
    Expr* expr = New(ExprKind::kIdent);
    expr->name = name;
    return expr;
  }
  Expr* Accumulator() { return Ident(kAccumulator); }
  Expr* EmptyList() { return New(ExprKind::kList); }
  Expr* EmptyMap() { return New(ExprKind::kMap); }
  Expr* ListWith(Expr* element) {
    Expr* expr = New(ExprKind::kList);
    expr->args = {element};
    return expr;
  }
  Expr* Call(std::string_view function, std::vector<Expr*> args) {
    Expr* expr = New(ExprKind::kCall);
    expr->name = function;
    expr->args = std::move(args);
    return expr;
  }
  Expr* MemberCall(std::string_view function, Expr* target, std::vector<Expr*> args = {}) {
    Expr* expr = Call(function, std::move(args));
    expr->target = target;
    expr->member = true;
    return expr;
  }
  Expr* PresenceTest(Expr* operand, const std::string& field) {
    Expr* expr = New(ExprKind::kSelect);
    expr->target = operand;
    expr->name = field;
    expr->test_only = true;
    return expr;
  }

  struct Fold {
    Expr* range;
    std::string_view variable;
    std::string_view second_variable;
    std::string_view accumulator;
    Expr* init;
    Expr* condition;
    Expr* step;
    Expr* result;
  };
  Expr* Comprehension(const Fold& fold) {
    Expr* expr = New(ExprKind::kComprehension);
    expr->variable = fold.variable;
    expr->second_variable = fold.second_variable;
    expr->accumulator = fold.accumulator;
    expr->range = fold.range;
    expr->init = fold.init;
    expr->condition = fold.condition;
    expr->step = fold.step;
    expr->result = fold.result;
    return expr;
  }
  // `result` with `name` bound to `init`: a comprehension over nothing.
  Expr* Binding(std::string_view name, Expr* range, Expr* init, Expr* result) {
    Expr* condition = Literal(Value::Bool(false));
    Expr* step = Ident(name);
    return Comprehension({range, kUnused, {}, name, init, condition, step, result});
  }

  // A copy with new ids at the positions of the original.
  Expr* Copy(const Expr* original) {
    Expr* copy = ast_.New(original->kind, ast_.NewId(ast_.OffsetOf(original->id)));
    const std::int64_t id = copy->id;
    *copy = *original;
    copy->id = id;
    switch (original->kind) {
      case ExprKind::kSelect:
        copy->target = Copy(original->target);
        break;
      case ExprKind::kCall:
        CopyAll(copy->args);
        if (original->member) copy->target = Copy(original->target);
        break;
      case ExprKind::kList:
        CopyAll(copy->args);
        break;
      case ExprKind::kMap:
      case ExprKind::kStruct:
        for (ExprEntry& entry : copy->entries) {
          entry.id = ast_.NewId(ast_.OffsetOf(call_id_));
          if (entry.key != nullptr) entry.key = Copy(entry.key);
          entry.value = Copy(entry.value);
        }
        break;
      case ExprKind::kComprehension:
        for (Expr* Expr::* part : {&Expr::range, &Expr::init, &Expr::condition, &Expr::step, &Expr::result}) {
          copy->*part = Copy(original->*part);
        }
        break;
      default:
        break;
    }
    return copy;
  }

 private:
  Expr* New(ExprKind kind) { return ast_.New(kind, ast_.NewId(ast_.OffsetOf(call_id_))); }
  void CopyAll(std::vector<Expr*>& exprs) {
    for (Expr*& expr : exprs) expr = Copy(expr);
  }

  Ast& ast_;
  const std::int64_t call_id_;
  std::optional<MacroError>& error_;
};

using Args = std::span<Expr* const>;

bool IsReservedVariable(std::string_view name) { return name == kAccumulator || name == kOldAccumulator; }

constexpr const char* kOverwrites = "iteration variable overwrites accumulator variable";

// The iteration variable of a comprehension with one variable; null after an error.
const std::string* Variable(Expansion& expansion, const Expr* arg, const char* message) {
  if (arg->kind != ExprKind::kIdent) {
    expansion.Fail(arg, message);
    return nullptr;
  }
  if (IsReservedVariable(arg->name)) {
    expansion.Fail(arg, kOverwrites);
    return nullptr;
  }
  return &arg->name;
}

struct TwoVariables {
  std::string_view first, second;
};

std::optional<TwoVariables> Variables(Expansion& expansion, Args args) {
  for (const Expr* arg : args.first(2)) {
    if (arg->kind != ExprKind::kIdent) {
      expansion.Fail(arg, "argument must be a simple name");
      return std::nullopt;
    }
  }
  if (args[0]->name == args[1]->name) {
    expansion.Fail(args[1], "duplicate variable name: " + args[0]->name);
    return std::nullopt;
  }
  for (const Expr* arg : args.first(2)) {
    if (IsReservedVariable(arg->name)) {
      expansion.Fail(arg, kOverwrites);
      return std::nullopt;
    }
  }
  return TwoVariables{args[0]->name, args[1]->name};
}

// `then` if `filter` holds (or is null), else the accumulator.
Expr* Filtered(Expansion& e, Expr* filter, Expr* then) {
  return filter == nullptr ? then : e.Call(operators::kConditional, {filter, then, e.Accumulator()});
}

enum class Quantifier : std::uint8_t { kAll, kExists, kExistsOne };

Expr* Quantify(Expansion& e, Quantifier quantifier, Expr* range, TwoVariables variables, Expr* predicate) {
  Expr* init = nullptr;
  Expr* condition = nullptr;
  Expr* step = nullptr;
  Expr* result = nullptr;
  switch (quantifier) {
    case Quantifier::kAll:
      init = e.Literal(Value::Bool(true));
      condition = e.Call(operators::kNotStrictlyFalse, {e.Accumulator()});
      step = e.Call(operators::kAnd, {e.Accumulator(), predicate});
      result = e.Accumulator();
      break;
    case Quantifier::kExists: {
      init = e.Literal(Value::Bool(false));
      Expr* negated = e.Call(operators::kNot, {e.Accumulator()});
      condition = e.Call(operators::kNotStrictlyFalse, {negated});
      step = e.Call(operators::kOr, {e.Accumulator(), predicate});
      result = e.Accumulator();
      break;
    }
    case Quantifier::kExistsOne: {
      init = e.Literal(Value::Int(0));
      condition = e.Literal(Value::Bool(true));
      Expr* counter = e.Accumulator();
      Expr* one = e.Literal(Value::Int(1));
      Expr* increased = e.Call(operators::kAdd, {counter, one});
      step = e.Call(operators::kConditional, {predicate, increased, e.Accumulator()});
      Expr* count = e.Accumulator();
      Expr* expected = e.Literal(Value::Int(1));
      result = e.Call(operators::kEquals, {count, expected});
      break;
    }
  }
  return e.Comprehension(
      {range, variables.first, variables.second, kAccumulator, init, condition, step, result});
}

template <Quantifier quantifier>
Expr* QuantifyOne(Expansion& e, Expr* target, Args args) {
  const std::string* variable = Variable(e, args[0], "argument must be a simple name");
  return variable == nullptr ? nullptr : Quantify(e, quantifier, target, {*variable, {}}, args[1]);
}

template <Quantifier quantifier>
Expr* QuantifyTwo(Expansion& e, Expr* target, Args args) {
  const auto variables = Variables(e, args);
  return variables ? Quantify(e, quantifier, target, *variables, args[2]) : nullptr;
}

// x.map(v, [filter,] transform)
Expr* MapList(Expansion& e, Expr* target, Args args) {
  const std::string* variable = Variable(e, args[0], "argument is not an identifier");
  if (variable == nullptr) return nullptr;
  Expr* init = e.EmptyList();
  Expr* condition = e.Literal(Value::Bool(true));
  Expr* accumulator = e.Accumulator();
  Expr* step = e.Call(operators::kAdd, {accumulator, e.ListWith(args.back())});
  step = Filtered(e, args.size() == 3 ? args[1] : nullptr, step);
  Expr* result = e.Accumulator();
  return e.Comprehension({target, *variable, {}, kAccumulator, init, condition, step, result});
}

Expr* FilterList(Expansion& e, Expr* target, Args args) {
  const std::string* variable = Variable(e, args[0], "argument is not an identifier");
  if (variable == nullptr) return nullptr;
  Expr* init = e.EmptyList();
  Expr* condition = e.Literal(Value::Bool(true));
  Expr* accumulator = e.Accumulator();
  Expr* step = e.Call(operators::kAdd, {accumulator, e.ListWith(args[0])});
  step = Filtered(e, args[1], step);
  Expr* result = e.Accumulator();
  return e.Comprehension({target, *variable, {}, kAccumulator, init, condition, step, result});
}

enum class Transform : std::uint8_t { kList, kMap, kMapEntry };

template <Transform transform>
Expr* TransformTwo(Expansion& e, Expr* target, Args args) {
  const auto variables = Variables(e, args);
  if (!variables) return nullptr;
  Expr* accumulator = e.Accumulator();
  Expr* step = nullptr;
  if constexpr (transform == Transform::kList) {
    step = e.Call(operators::kAdd, {accumulator, e.ListWith(args.back())});
  } else if constexpr (transform == Transform::kMap) {
    step = e.Call(kMapInsert, {accumulator, e.Ident(variables->first), args.back()});
  } else {
    step = e.Call(kMapInsert, {accumulator, args.back()});
  }
  step = Filtered(e, args.size() == 4 ? args[2] : nullptr, step);
  Expr* init = transform == Transform::kList ? e.EmptyList() : e.EmptyMap();
  Expr* condition = e.Literal(Value::Bool(true));
  Expr* result = e.Accumulator();
  return e.Comprehension(
      {target, variables->first, variables->second, kAccumulator, init, condition, step, result});
}

Expr* Has(Expansion& e, Expr*, Args args) {
  if (args[0]->kind != ExprKind::kSelect) return e.Fail(args[0], "invalid argument to has() macro");
  return e.PresenceTest(args[0]->target, args[0]->name);
}

Expr* Bind(Expansion& e, Expr* target, Args args) {
  if (target->kind != ExprKind::kIdent || target->name != "cel") return nullptr;
  if (args[0]->kind != ExprKind::kIdent) {
    return e.Fail(args[0], "cel.bind() variable names must be simple identifiers");
  }
  return e.Binding(args[0]->name, e.EmptyList(), args[1], args[2]);
}

template <bool flat>
Expr* OptionalMap(Expansion& e, Expr* target, Args args) {
  if (args[0]->kind != ExprKind::kIdent) {
    return e.Fail(args[0], flat ? "optFlatMap() variable name must be a simple identifier"
                                : "optMap() variable name must be a simple identifier");
  }
  Expr* has_value = e.MemberCall("hasValue", target);
  Expr* range = e.EmptyList();
  Expr* value = e.MemberCall("value", e.Copy(target));
  Expr* mapped = e.Binding(args[0]->name, range, value, args[1]);
  if (!flat) mapped = e.Call("optional.of", {mapped});
  return e.Call(operators::kConditional, {has_value, mapped, e.Call("optional.none", {})});
}

// x.sortBy(v, key): x.@sortByAssociatedKeys(x.map(v, key)) with x evaluated once.
Expr* SortBy(Expansion& e, Expr* target, Args args) {
  Expr* input = e.Ident("@__sortBy_input__");
  switch (target->kind) {
    case ExprKind::kList:
    case ExprKind::kSelect:
    case ExprKind::kIdent:
    case ExprKind::kComprehension:
    case ExprKind::kCall:
      break;
    default:
      return e.Fail(
          target,
          "sortBy can only be applied to a list, identifier, comprehension, call or select expression");
  }
  Expr* keys = MapList(e, e.Copy(input), args);
  if (keys == nullptr) return nullptr;
  Expr* sorted = e.MemberCall("@sortByAssociatedKeys", e.Copy(input), {keys});
  Expr* range = e.EmptyList();
  Expr* condition = e.Literal(Value::Bool(false));
  return e.Comprehension({range, kUnused, {}, input->name, target, condition, input, sorted});
}

struct Macro {
  std::string_view function;
  std::size_t args;
  bool receiver;
  Expr* (*expand)(Expansion&, Expr*, Args);
};

constexpr std::array kMacros = {
    Macro{"has", 1, false, Has},
    Macro{"all", 2, true, QuantifyOne<Quantifier::kAll>},
    Macro{"exists", 2, true, QuantifyOne<Quantifier::kExists>},
    Macro{"exists_one", 2, true, QuantifyOne<Quantifier::kExistsOne>},
    Macro{"map", 2, true, MapList},
    Macro{"map", 3, true, MapList},
    Macro{"filter", 2, true, FilterList},
    Macro{"optMap", 2, true, OptionalMap<false>},
    Macro{"optFlatMap", 2, true, OptionalMap<true>},
    Macro{"all", 3, true, QuantifyTwo<Quantifier::kAll>},
    Macro{"exists", 3, true, QuantifyTwo<Quantifier::kExists>},
    Macro{"exists_one", 3, true, QuantifyTwo<Quantifier::kExistsOne>},
    Macro{"existsOne", 3, true, QuantifyTwo<Quantifier::kExistsOne>},
    Macro{"transformList", 3, true, TransformTwo<Transform::kList>},
    Macro{"transformList", 4, true, TransformTwo<Transform::kList>},
    Macro{"transformMap", 3, true, TransformTwo<Transform::kMap>},
    Macro{"transformMap", 4, true, TransformTwo<Transform::kMap>},
    Macro{"transformMapEntry", 3, true, TransformTwo<Transform::kMapEntry>},
    Macro{"transformMapEntry", 4, true, TransformTwo<Transform::kMapEntry>},
    Macro{"sortBy", 2, true, SortBy},
    Macro{"bind", 3, true, Bind},
};

}  // namespace

Expr* ExpandMacro(Ast& ast, std::int64_t call_id, std::string_view function, Expr* target,
                  std::span<Expr* const> args, std::optional<MacroError>& error) {
  for (const Macro& macro : kMacros) {
    if (macro.function == function && macro.args == args.size() && macro.receiver == (target != nullptr)) {
      Expansion expansion(ast, call_id, error);
      // The expansion at most doubles the tree.
      if (ast.ids() > kMostNodes) {
        error = MacroError{call_id, "expression too large after macro expansion"};
        return nullptr;
      }
      return macro.expand(expansion, target, args);
    }
  }
  return nullptr;
}

}  // namespace berth::cel
