#include "cel/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cel/parser.hpp"
#include "cel/substitution.hpp"

namespace berth::cel {
namespace {

// Types share their parameters, so that {a: a} doubles the length of a type. Longer types are rejected.
constexpr std::uint64_t kMaxTypeSize = 10'000;
constexpr const char* kTooComplex = "type of the expression is too complex";

struct Local {
  std::string name;
  TypePtr type;
};

// What an identifier stands for.
struct Resolved {
  TypePtr type;
  bool shadowed = false;  // by a variable of a comprehension
};

class Checker {
 public:
  Checker(Ast& ast, const Environment& environment, ErrorList& errors)
      : ast_(ast), environment_(environment), errors_(errors) {
    checked_.types.resize(static_cast<std::size_t>(ast.ids()));
    checked_.references.resize(static_cast<std::size_t>(ast.ids()));
  }

  CheckedTypes Run() {
    CheckExpr(ast_.root);
    for (TypePtr& type : checked_.types) {
      if (type != nullptr) type = substitution_.Apply(type, true);
    }
    if (substitution_.exhausted()) TooComplex(ast_.root->id);
    return std::move(checked_);
  }

 private:
  void CheckExpr(Expr* e) {
    switch (e->kind) {
      case ExprKind::kLiteral:
        return SetType(e, RuntimeType(e->literal));
      case ExprKind::kIdent:
        return CheckIdent(e);
      case ExprKind::kSelect:
        return CheckSelect(e);
      case ExprKind::kCall:
        return CheckCall(e);
      case ExprKind::kList:
        return CheckList(e);
      case ExprKind::kMap:
        return CheckMap(e);
      case ExprKind::kStruct:
        return CheckStruct(e);
      case ExprKind::kComprehension:
        return CheckComprehension(e);
      case ExprKind::kUnspecified:
        return SetType(e, ErrorType());
    }
  }

  // ---- names

  void CheckIdent(Expr* e) {
    const auto resolved = ResolveSimple(e->name);
    if (!resolved) {
      SetType(e, ErrorType());
      return Undeclared(e, e->name);
    }
    Refer(e, e->name, *resolved);
  }

  void Refer(Expr* e, std::string_view name, const Resolved& resolved) {
    if (name.starts_with('.')) name.remove_prefix(1);
    SetType(e, resolved.type);
    const std::string qualified = (resolved.shadowed ? "." : "") + std::string(name);
    Reference& reference = ReferenceOf(e);
    reference.present = true;
    reference.name = qualified;
    e->kind = ExprKind::kIdent;
    e->name = qualified;
    e->target = nullptr;
  }

  std::optional<Resolved> ResolveSimple(std::string_view name) const {
    const Local* local = FindLocal(name);
    if (local != nullptr && !name.starts_with('.')) return Resolved{local->type, false};
    return ResolveGlobal(name, local != nullptr);
  }

  std::optional<Resolved> ResolveGlobal(std::string_view name, bool shadowed) const {
    if (name.starts_with('.')) name.remove_prefix(1);
    if (const int index = environment_.VariableIndex(name); index >= 0) {
      return Resolved{environment_.VariableType(index), shadowed};
    }
    if (const TypePtr type = environment_.FindType(name, false)) return Resolved{TypeOf(type), shadowed};
    return std::nullopt;
  }

  const Local* FindLocal(std::string_view name) const {
    if (name.starts_with('.')) name.remove_prefix(1);
    for (auto at = locals_.rbegin(); at != locals_.rend(); ++at) {
      if (at->name == name) return &*at;
    }
    return nullptr;
  }

  // a.b.c may be a qualified name, or selections from a or a.b.
  void CheckSelect(Expr* e) {
    if (const std::string name = QualifiedName(e); !name.empty()) {
      const std::string first = name.substr(0, name.find('.', 1));
      const bool local = FindLocal(first) != nullptr;
      if (!local || name.starts_with('.')) {
        if (const auto resolved = ResolveGlobal(name, local)) return Refer(e, name, *resolved);
      }
    }
    TypePtr type = CheckField(e, e->target, e->name, false);
    if (e->test_only) type = BoolType();
    SetType(e, substitution_.Apply(type, false));
  }

  // Empty if the expression is not made of names only.
  static std::string QualifiedName(const Expr* e) {
    if (e->kind == ExprKind::kIdent) return e->name;
    if (e->kind != ExprKind::kSelect || e->test_only) return {};
    const std::string prefix = QualifiedName(e->target);
    return prefix.empty() ? prefix : prefix + "." + e->name;
  }

  TypePtr CheckField(Expr* e, Expr* operand, const std::string& field, bool optional) {
    CheckExpr(operand);
    TypePtr target = substitution_.Apply(TypeOfExpr(operand), false);
    const bool unwrapped = IsOptional(*target);
    if (unwrapped) target = target->parameters[0];
    TypePtr result = ErrorType();
    switch (target->kind) {
      case TypeKind::kMap:
        result = target->parameters[1];
        break;
      case TypeKind::kStruct:
        result = LookUpField(e->id, target->name, field);
        break;
      case TypeKind::kTypeParameter:
        substitution_.Assign(DynType(), target);
        result = DynType();
        break;
      default:
        if (!IsDynOrError(*target)) {
          Error(e->id, fmt::format("type '{}' does not support field selection", FormatType(*target)));
        }
        result = DynType();
    }
    return unwrapped || optional ? OptionalOf(result) : result;
  }

  TypePtr LookUpField(std::int64_t id, const std::string& type, const std::string& field) {
    if (!environment_.HasFields(type)) {
      Error(id, fmt::format("unexpected failed resolution of '{}'", type));
      return ErrorType();
    }
    if (TypePtr found = environment_.FindField(type, field)) return found;
    Error(id, fmt::format("undefined field '{}'", field));
    return ErrorType();
  }

  // ---- calls

  void CheckCall(Expr* e) {
    if (e->name == operators::kOptionalSelect) {
      const TypePtr type = CheckField(e, e->args[0], e->args[1]->literal.text(), true);
      SetType(e, substitution_.Apply(type, false));
      Reference& reference = ReferenceOf(e);
      reference.present = true;
      return;
    }
    for (Expr* arg : e->args) CheckExpr(arg);
    if (!e->member) {
      const Function* function = environment_.functions().Find(e->name);
      if (function == nullptr) {
        Undeclared(e, e->name);
        return SetType(e, ErrorType());
      }
      e->name = function->name;
      return Resolve(e, *function);
    }
    // a.b.c() is the function a.b.c or the function c of a.b.
    if (const std::string prefix = QualifiedName(e->target); !prefix.empty()) {
      if (const Function* function = environment_.functions().Find(prefix + "." + e->name)) {
        e->name = function->name;
        e->member = false;
        e->target = nullptr;
        return Resolve(e, *function);
      }
    }
    CheckExpr(e->target);
    const Function* function = environment_.functions().Find(e->name);
    if (function != nullptr) return Resolve(e, *function);
    SetType(e, ErrorType());
    Undeclared(e, e->name);
  }

  void Resolve(Expr* e, const Function& function) {
    Reference reference;
    const TypePtr type = ResolveOverloads(e, function, reference);
    if (type == nullptr) return SetType(e, ErrorType());
    SetType(e, type);
    reference.present = true;
    ReferenceOf(e) = std::move(reference);
  }

  // The type of the call; null after an error.
  TypePtr ResolveOverloads(Expr* e, const Function& function, Reference& reference) {
    std::vector<TypePtr> args;
    if (e->member) args.push_back(TypeOfExpr(e->target));
    for (const Expr* arg : e->args) args.push_back(TypeOfExpr(arg));
    if (function.name == operators::kAnd || function.name == operators::kOr) {
      return ResolveLogic(e, function, args, reference);
    }
    TypePtr result;
    for (const Overload& overload : function.overloads) {
      if (overload.member != e->member) continue;
      const auto [candidates, candidate_result] = Instantiate(overload);
      if (!substitution_.AssignAll(args, candidates)) continue;
      reference.overloads.push_back(&overload);
      const TypePtr type = substitution_.Apply(candidate_result, false);
      if (result == nullptr)
        result = type;
      else if (!IsDyn(*result) && !SameType(*type, *result))
        result = DynType();
    }
    if (result == nullptr) NoMatchingOverload(e, function, args);
    return result;
  }

  TypePtr ResolveLogic(Expr* e, const Function& function, const std::vector<TypePtr>& args,
                       Reference& reference) {
    reference.overloads.push_back(&function.overloads[0]);
    bool failed = false;
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (substitution_.Assign(args[i], BoolType())) continue;
      Mismatch(e->args[i], BoolType(), args[i]);
      failed = true;
    }
    return failed ? nullptr : BoolType();
  }

  // The overload's types with new type parameters.
  std::pair<std::vector<TypePtr>, TypePtr> Instantiate(const Overload& overload) {
    Substitution renaming;
    std::vector<std::string> renamed;
    const auto rename = [&](const auto& self, const TypePtr& type) -> void {
      if (type->kind == TypeKind::kTypeParameter) {
        if (std::find(renamed.begin(), renamed.end(), type->name) != renamed.end()) return;
        renamed.push_back(type->name);
        renaming.Bind(type->name, NewTypeVariable());
      }
      for (const TypePtr& parameter : type->parameters) self(self, parameter);
    };
    rename(rename, overload.result);
    for (const TypePtr& arg : overload.args) rename(rename, arg);
    if (renamed.empty()) return {overload.args, overload.result};
    std::vector<TypePtr> args;
    for (const TypePtr& arg : overload.args) args.push_back(renaming.Apply(arg, false));
    return {std::move(args), renaming.Apply(overload.result, false)};
  }

  void NoMatchingOverload(const Expr* e, const Function& function, const std::vector<TypePtr>& args) {
    std::string signature;
    for (std::size_t i = 0; i < args.size(); ++i) {
      const std::string type = FormatType(*substitution_.Apply(args[i], true));
      if (e->member && i == 0) {
        signature = type + ".(";
        continue;
      }
      if (signature.empty()) signature = "(";
      if (!signature.ends_with('(')) signature += ", ";
      signature += type;
    }
    if (signature.empty()) signature = "(";
    Error(e->id,
          fmt::format("found no matching overload for '{}' applied to '{})'", function.name, signature));
  }

  // ---- literals

  void CheckList(Expr* e) {
    TypePtr type;
    for (std::size_t i = 0; i < e->args.size(); ++i) {
      Expr* element = e->args[i];
      CheckExpr(element);
      TypePtr element_type = TypeOfExpr(element);
      if (!e->optionals.empty() && e->optionals[i]) element_type = Unwrap(element, element_type);
      type = Join(type, element_type);
    }
    SetType(e, ListOf(type == nullptr ? NewTypeVariable() : type));
  }

  void CheckMap(Expr* e) {
    TypePtr key_type;
    TypePtr value_type;
    for (const ExprEntry& entry : e->entries) {
      CheckExpr(entry.key);
      key_type = Join(key_type, TypeOfExpr(entry.key));
      CheckExpr(entry.value);
      TypePtr type = TypeOfExpr(entry.value);
      if (entry.optional) type = Unwrap(entry.value, type);
      value_type = Join(value_type, type);
    }
    if (key_type == nullptr) {
      key_type = NewTypeVariable();
      value_type = NewTypeVariable();
    }
    SetType(e, MapOf(key_type, value_type));
  }

  TypePtr Unwrap(const Expr* e, const TypePtr& type) {
    if (IsOptional(*type)) return type->parameters[0];
    if (!IsDyn(*type)) Mismatch(e, OptionalOf(type), type);
    return type;
  }

  // validators.cpp requires elements of one type, except for arguments of format().
  TypePtr Join(const TypePtr& previous, const TypePtr& current) {
    if (previous == nullptr) return current;
    return substitution_.Assign(previous, current) ? MostGeneral(previous, current) : DynType();
  }

  void CheckStruct(Expr* e) {
    const std::string name = e->name.starts_with('.') ? e->name.substr(1) : e->name;
    const TypePtr type = environment_.FindType(name, false);
    if (type == nullptr) {
      Undeclared(e, e->name);
      return SetType(e, ErrorType());
    }
    e->name = name;
    TypePtr result = type;
    if (type->kind != TypeKind::kStruct) {
      Error(e->id, fmt::format("'{}' is not a message type", type->name));
      result = ErrorType();
    }
    SetType(e, result);
    for (const ExprEntry& entry : e->entries) {
      CheckExpr(entry.value);
      const TypePtr field = LookUpField(entry.id, name, entry.field);
      TypePtr value = TypeOfExpr(entry.value);
      if (entry.optional) value = Unwrap(entry.value, value);
      if (!substitution_.Assign(field, value)) {
        Error(entry.id, fmt::format("expected type of field '{}' is '{}' but provided type is '{}'",
                                    entry.field, FormatType(*field), FormatType(*value)));
      }
    }
  }

  // ---- comprehensions

  void CheckComprehension(Expr* e) {
    CheckExpr(e->range);
    CheckExpr(e->init);
    const TypePtr range = substitution_.Apply(TypeOfExpr(e->range), false);
    const TypePtr accumulator = TypeOfExpr(e->init);
    const std::size_t outer = locals_.size();
    locals_.push_back({e->accumulator, accumulator});
    const std::size_t inner = locals_.size();
    AddIterationVariables(e, range);
    CheckExpr(e->condition);
    RequireType(e->condition, BoolType());
    CheckExpr(e->step);
    RequireType(e->step, accumulator);
    locals_.resize(inner);
    CheckExpr(e->result);
    locals_.resize(outer);
    SetType(e, substitution_.Apply(TypeOfExpr(e->result), false));
  }

  void AddIterationVariables(const Expr* e, const TypePtr& range) {
    TypePtr first = ErrorType();
    TypePtr second = ErrorType();
    const bool two = !e->second_variable.empty();
    switch (range->kind) {
      case TypeKind::kList:
        first = two ? IntType() : range->parameters[0];
        second = range->parameters[0];
        break;
      case TypeKind::kMap:
        first = range->parameters[0];
        second = range->parameters[1];
        break;
      case TypeKind::kDyn:
      case TypeKind::kError:
      case TypeKind::kTypeParameter:
        substitution_.Assign(DynType(), range);
        first = second = DynType();
        break;
      default:
        Error(
            e->range->id,
            fmt::format(
                "expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)",
                FormatType(*range)));
    }
    locals_.push_back({e->variable, first});
    if (two) locals_.push_back({e->second_variable, second});
  }

  void RequireType(const Expr* e, const TypePtr& type) {
    if (!substitution_.Assign(type, TypeOfExpr(e))) Mismatch(e, type, TypeOfExpr(e));
  }

  // ---- helpers

  TypePtr NewTypeVariable() { return TypeParameter(fmt::format("_var{}", type_variables_++)); }

  Reference& ReferenceOf(const Expr* e) { return checked_.references[static_cast<std::size_t>(e->id)]; }
  const TypePtr& TypeOfExpr(const Expr* e) const { return checked_.types[static_cast<std::size_t>(e->id)]; }

  void SetType(const Expr* e, TypePtr type) {
    TypePtr& current = checked_.types[static_cast<std::size_t>(e->id)];
    if (type->size > kMaxTypeSize || substitution_.exhausted()) {
      Error(e->id, kTooComplex);
      type = ErrorType();
    }
    if (current != nullptr && !SameType(*current, *type)) {
      return Error(e->id, fmt::format("incompatible type already exists for expression: ({}) old:{}, new:{}",
                                      e->id, TypeText(*current), TypeText(*type)));
    }
    current = std::move(type);
  }

  void Mismatch(const Expr* e, const TypePtr& expected, const TypePtr& actual) {
    Error(e->id,
          fmt::format("expected type '{}' but found '{}'", FormatType(*expected), FormatType(*actual)));
  }
  void Undeclared(const Expr* e, const std::string& name) {
    Error(e->id, fmt::format("undeclared reference to '{}' (in container '')", name));
  }
  void Error(std::int64_t id, std::string message) {
    if (substitution_.exhausted()) return TooComplex(id);
    errors_.Add(ast_.LocationOf(id), std::move(message));
  }
  // Once: all further errors are consequences.
  void TooComplex(std::int64_t id) {
    if (!std::exchange(too_complex_, true)) errors_.Add(ast_.LocationOf(id), kTooComplex);
  }

  Ast& ast_;
  const Environment& environment_;
  ErrorList& errors_;
  CheckedTypes checked_;
  Substitution substitution_;
  std::vector<Local> locals_;
  int type_variables_ = 0;
  bool too_complex_ = false;
};

}  // namespace

CheckedTypes Check(Ast& ast, const Environment& environment, ErrorList& errors) {
  return Checker(ast, environment, errors).Run();
}

}  // namespace berth::cel
