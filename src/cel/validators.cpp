#include <fmt/format.h>

#include <algorithm>

#include "cel/checker.hpp"
#include "cel/library/format_string.hpp"
#include "cel/library/regular_expressions.hpp"
#include "cel/times.hpp"

namespace berth::cel {
namespace {

class Validator {
 public:
  Validator(const Ast& ast, const CheckedTypes& checked, ErrorList& errors)
      : ast_(ast), checked_(checked), errors_(errors) {}

  void Run() {
    ForEach(ExprKind::kCall, [this](const Expr* e) { CheckLiteral(e, "duration", IsDuration); });
    ForEach(ExprKind::kCall, [this](const Expr* e) { CheckLiteral(e, "timestamp", IsTimestamp); });
    ForEach(ExprKind::kCall, [this](const Expr* e) {
      CheckLiteral(e, "matches", [this](const Value& value) { return IsPattern(value); });
    });
    CollectFormatArguments();
    ForEach(ExprKind::kList, [this](const Expr* e) { CheckList(e); });
    ForEach(ExprKind::kMap, [this](const Expr* e) { CheckMap(e); });
    ForEach(ExprKind::kCall, [this](const Expr* e) { CheckFormat(e); });
  }

 private:
  template <class Visit>
  void ForEach(ExprKind kind, const Visit& visit) {
    VisitPostOrder(ast_.root, [&](const Expr* e) {
      if (e->kind == kind) visit(e);
    });
  }

  static bool IsDuration(const Value& value) {
    return value.kind() != ValueKind::kString || ParseDuration(value.text()).has_value();
  }
  static bool IsTimestamp(const Value& value) {
    if (value.kind() == ValueKind::kInt)
      return value.as_int() >= kMinTimestamp && value.as_int() <= kMaxTimestamp;
    if (value.kind() != ValueKind::kString) return true;
    return ParseTimestamp(value.text()).kind() == ValueKind::kTimestamp;
  }
  // Patterns that are too large in total are left to the planner.
  bool IsPattern(const Value& value) {
    std::string error;
    return value.kind() != ValueKind::kString || pattern_budget_.exhausted() ||
           CompilePattern(value.text(), error, pattern_budget_) != nullptr || pattern_budget_.exhausted();
  }

  // The first argument, which for the global function matches() is the text: so does cel-go.
  template <class Valid>
  void CheckLiteral(const Expr* e, std::string_view function, const Valid& valid) {
    if (e->name != function || e->args.empty() || e->args[0]->kind != ExprKind::kLiteral) return;
    if (!valid(e->args[0]->literal)) Error(e->args[0]->id, fmt::format("invalid {} argument", function));
  }

  // ---- lists and maps of one type

  // The arguments of format() may have different types.
  void CollectFormatArguments() {
    ForEach(ExprKind::kCall, [this](const Expr* e) {
      if (e->name != "format") return;
      VisitPostOrder(const_cast<Expr*>(e), [this](const Expr* inner) { exempt_.push_back(inner); });
    });
    std::sort(exempt_.begin(), exempt_.end());
  }

  bool IsExempt(const Expr* e) const { return std::binary_search(exempt_.begin(), exempt_.end(), e); }

  void CheckList(const Expr* e) {
    if (IsExempt(e)) return;
    TypePtr expected;
    for (std::size_t i = 0; i < e->args.size(); ++i) {
      const bool optional = !e->optionals.empty() && e->optionals[i];
      const TypePtr type = Unwrapped(checked_.TypeOf(e->args[i]), optional);
      if (expected == nullptr) {
        expected = type;
      } else if (!SameType(*expected, *type, false)) {
        return Mismatch(e->args[i], expected, type);
      }
    }
  }

  void CheckMap(const Expr* e) {
    if (IsExempt(e)) return;
    TypePtr key;
    TypePtr value;
    for (const ExprEntry& entry : e->entries) {
      const TypePtr key_type = checked_.TypeOf(entry.key);
      const TypePtr value_type = Unwrapped(checked_.TypeOf(entry.value), entry.optional);
      if (key == nullptr) {
        key = key_type;
        value = value_type;
        continue;
      }
      if (!SameType(*key, *key_type, false)) Mismatch(entry.key, key, key_type);
      if (!SameType(*value, *value_type, false)) Mismatch(entry.value, value, value_type);
    }
  }

  static TypePtr Unwrapped(const TypePtr& type, bool optional) {
    return optional && !type->parameters.empty() ? type->parameters[0] : type;
  }

  // ---- format strings

  void CheckFormat(const Expr* e) {
    if (e->name != "format" || !e->member || e->args.size() != 1) return;
    if (e->target->kind != ExprKind::kLiteral || e->target->literal.kind() != ValueKind::kString) return;
    if (e->args[0]->kind != ExprKind::kList) return;
    const auto& args = e->args[0]->args;
    std::int64_t at_fault = e->id;
    std::int64_t used = 0;
    const std::string error = ParseFormat(
        e->target->literal.text(), static_cast<std::int64_t>(args.size()), true, [](std::string_view) {},
        [&](const FormatClause& clause, std::int64_t index) {
          return CheckArgument(clause, args[static_cast<std::size_t>(index)], at_fault);
        },
        used);
    if (!error.empty()) return Error(at_fault, error);
    if (static_cast<std::int64_t>(args.size()) > used) {
      Error(e->id, fmt::format("too many arguments supplied to string.format (expected {}, got {})", used,
                               args.size()));
    }
  }

  std::string CheckArgument(const FormatClause& clause, const Expr* arg, std::int64_t& at_fault) {
    const Expr* wrong = clause.kind == 's' ? NotPrintable(arg) : Accepts(clause.kind, arg) ? nullptr : arg;
    if (wrong == nullptr) return {};
    at_fault = wrong->id;
    return WrongFormatType(clause.kind, checked_.TypeOf(wrong)->name);
  }

  bool Accepts(char clause, const Expr* arg) const {
    const Type& type = *checked_.TypeOf(arg);
    const bool integer = type.kind == TypeKind::kInt || type.kind == TypeKind::kUint;
    const bool text = type.kind == TypeKind::kString;
    if (type.kind == TypeKind::kDyn) return true;
    switch (clause) {
      case 'f':
      case 'e':
        return type.kind == TypeKind::kDouble || text;
      case 'b':
        return integer || type.kind == TypeKind::kBool;
      case 'x':
      case 'X':
        return integer || text || type.kind == TypeKind::kBytes;
      default:
        return integer;
    }
  }

  // The part of a literal that has no text; null if there is none.
  const Expr* NotPrintable(const Expr* e) const {
    switch (checked_.TypeOf(e)->kind) {
      case TypeKind::kOpaque:
      case TypeKind::kStruct:
      case TypeKind::kAny:
      case TypeKind::kError:
        return e;
      default:
        break;
    }
    if (e->kind == ExprKind::kList) {
      for (const Expr* element : e->args) {
        if (const Expr* wrong = NotPrintable(element)) return wrong;
      }
    }
    for (const ExprEntry& entry : e->entries) {
      if (e->kind != ExprKind::kMap) break;
      if (const Expr* wrong = NotPrintable(entry.key)) return wrong;
      if (const Expr* wrong = NotPrintable(entry.value)) return wrong;
    }
    return nullptr;
  }

  void Mismatch(const Expr* e, const TypePtr& expected, const TypePtr& actual) {
    Error(e->id,
          fmt::format("expected type '{}' but found '{}'", FormatType(*expected), FormatType(*actual)));
  }
  void Error(std::int64_t id, std::string message) { errors_.Add(ast_.LocationOf(id), std::move(message)); }

  const Ast& ast_;
  const CheckedTypes& checked_;
  ErrorList& errors_;
  Budget pattern_budget_{kPatternBudget};
  std::vector<const Expr*> exempt_;
};

}  // namespace

void Validate(const Ast& ast, const CheckedTypes& checked, ErrorList& errors) {
  Validator(ast, checked, errors).Run();
}

}  // namespace berth::cel
