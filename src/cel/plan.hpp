// The executable form of an expression.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "cel/cel.hpp"
#include "cel/checker.hpp"

namespace berth::cel {

class Plan {
 public:
  virtual ~Plan() = default;
  virtual Evaluation Evaluate(std::span<const Value> variables, const EvaluationOptions& options) const = 0;
};

// Null and an error text if a constant part cannot be evaluated. Copies what it needs of its arguments,
// except for the environment's functions: their overloads are copied, too.
std::shared_ptr<const Plan> MakePlan(const Ast& ast, const CheckedTypes& checked,
                                     const Environment& environment, std::string& error);

}  // namespace berth::cel
