// The Common Expression Language as Kubernetes uses it: compiles an expression once and evaluates it many
// times.
//
//   cel::Environment environment;
//   environment.AddVariable("x", cel::IntType());
//   BERTH_TRY(cel::Program program, environment.Compile("x + 1 > 2"));
//   const cel::Value variables[] = {cel::Value::Int(5)};
//   cel::Evaluation evaluation = program.Evaluate(variables, options);
//
// Results, error texts and costs are those of cel-go v0.29.2 with the libraries, options and cost estimators
// of k8s.io/apiserver v0.37.1 for stored expressions. Differences: the README.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cel/functions.hpp"
#include "cel/type.hpp"
#include "cel/value.hpp"

namespace berth::cel {

class Plan;

struct EvaluationOptions {
  // The evaluation ends with an error as soon as the cost is greater.
  std::uint64_t cost_limit = 1'000'000;
  // Called after every hundred iterations of comprehensions; true ends the evaluation with the error
  // "operation interrupted". Empty: never.
  std::function<bool()> interrupted = nullptr;
};

struct Evaluation {
  Value value;  // may be an error
  std::uint64_t cost = 0;
  // What the evaluation took, in units of cost: more than the cost if the cost model does not count all of
  // the work. Nearly proportional to time.
  std::uint64_t effort = 0;
};

// A compiled expression. Immutable; copies share the plan. Any thread.
class Program {
 public:
  // `variables`: one value per variable of the environment, in the order in which they were added.
  Evaluation Evaluate(std::span<const Value> variables, const EvaluationOptions& options) const;
  const TypePtr& type() const { return type_; }
  // An upper estimate of the bytes that the program takes.
  std::size_t Memory() const;

 private:
  friend class Environment;
  Program(std::shared_ptr<const Plan> plan, TypePtr type) : plan_(std::move(plan)), type_(std::move(type)) {}
  std::shared_ptr<const Plan> plan_;
  TypePtr type_;
};

struct ObjectField {
  std::string name;
  TypePtr type;
};

// Why an expression has no program. The text is complete for kCheck ("ERROR: <input>:1:1: ..."); for kPlan it
// is the error of a constant part ("error parsing regexp: ...").
struct CompileError {
  enum class Phase : std::uint8_t { kCheck, kPlan };
  Phase phase = Phase::kCheck;
  std::string message;
  TypePtr type;  // of the expression, for kPlan
};

// The variables, types and functions that expressions may use. Begins with the libraries of Kubernetes'
// base environment, except for quantities. Not thread-safe while it is changed.
class Environment {
 public:
  Environment();

  void AddVariable(std::string name, TypePtr type);
  // Declares the fields of ObjectOf(name).
  void AddObject(std::string name, std::vector<ObjectField> fields);
  // Makes `type` known by its name, as in `type(x) == net.IP`.
  void AddTypeName(TypePtr type);
  FunctionRegistry& functions() { return functions_; }
  // Expressions with more code points do not compile.
  void set_size_limit(std::size_t code_points) { size_limit_ = code_points; }

  // Parses, checks, validates literals and plans. `error` is set if there is no program.
  std::optional<Program> Compile(std::string_view expression, CompileError& error) const;

  // ---- for the checker and the planner

  const FunctionRegistry& functions() const { return functions_; }
  // The index of a variable, or -1.
  int VariableIndex(std::string_view name) const;
  const TypePtr& VariableType(int index) const { return variables_[static_cast<std::size_t>(index)].second; }
  // The type that a name denotes; null if there is none. `planned`: only those that exist at run time.
  TypePtr FindType(std::string_view name, bool planned) const;
  // Null if `type` has no declared fields, or not this one.
  bool HasFields(std::string_view type) const;
  TypePtr FindField(std::string_view type, std::string_view field) const;

 private:
  FunctionRegistry functions_;
  std::vector<std::pair<std::string, TypePtr>> variables_;
  std::vector<std::pair<std::string, std::vector<ObjectField>>> objects_;
  std::vector<TypePtr> types_;
  std::size_t size_limit_ = 100'000;
};

}  // namespace berth::cel
