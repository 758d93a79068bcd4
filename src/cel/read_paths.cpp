#include "cel/read_paths.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "cel/ast.hpp"
#include "cel/parser.hpp"

namespace berth::cel {
namespace {

class PathCollector {
 public:
  explicit PathCollector(std::string_view variable) { known_[std::string(variable)] = Path(); }

  void Collect(const Expr& expr) {
    if (auto path = PathOf(expr)) {
      if (!path->empty() && std::ranges::find(paths_, *path) == paths_.end())
        paths_.push_back(*std::move(path));
      return;
    }
    if (expr.kind == ExprKind::kComprehension) return CollectComprehension(expr);
    if (expr.target != nullptr) Collect(*expr.target);
    for (const Expr* arg : expr.args) Collect(*arg);
    for (const ExprEntry& entry : expr.entries) {
      if (entry.key != nullptr) Collect(*entry.key);
      Collect(*entry.value);
    }
  }
  std::vector<Path> Take() { return std::move(paths_); }

 private:
  // nullopt: not an access to the variable.
  std::optional<Path> PathOf(const Expr& expr) const {
    if (expr.kind == ExprKind::kIdent) {
      const auto found = known_.find(expr.name);
      return found == known_.end() ? std::nullopt : std::optional(found->second);
    }
    if (expr.kind == ExprKind::kSelect) return Extended(*expr.target, expr.name);
    if (expr.kind != ExprKind::kCall || expr.args.size() != 2) return std::nullopt;
    const bool in = expr.name == operators::kIn;  // "key" in x.a
    if (!in && expr.name != operators::kIndex && expr.name != operators::kOptionalIndex &&
        expr.name != operators::kOptionalSelect)
      return std::nullopt;
    const Expr& key = *expr.args[in ? 0 : 1];
    if (key.kind != ExprKind::kLiteral || key.literal.kind() != ValueKind::kString) return std::nullopt;
    return Extended(*expr.args[in ? 1 : 0], key.literal.text());
  }
  std::optional<Path> Extended(const Expr& operand, const std::string& key) const {
    auto path = PathOf(operand);
    if (path) path->push_back(key);
    return path;
  }

  // cel.bind(name, value, result) is a comprehension whose accumulator is the variable.
  void CollectComprehension(const Expr& expr) {
    const auto bound = PathOf(*expr.init);
    if (!bound) Collect(*expr.init);
    Collect(*expr.range);
    const auto outer = known_;
    for (const std::string& hidden : {expr.variable, expr.second_variable, expr.accumulator})
      known_.erase(hidden);
    if (bound) {
      known_[expr.accumulator] = *bound;
    } else {
      Collect(*expr.condition);
      Collect(*expr.step);
    }
    Collect(*expr.result);
    known_ = outer;
  }

  std::map<std::string, Path, std::less<>> known_;  // by variable: what it stands for
  std::vector<Path> paths_;
};

}  // namespace

std::vector<Path> ReadPaths(std::string_view expression, std::string_view variable) {
  const Source source(expression);
  ErrorList errors;
  Ast ast(source);
  Parse(ast, errors);
  if (!errors.empty()) return {};
  PathCollector collector(variable);
  collector.Collect(*ast.root);
  return collector.Take();
}

}  // namespace berth::cel
