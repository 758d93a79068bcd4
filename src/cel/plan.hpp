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
  virtual std::size_t Memory() const = 0;  // see Program
};

// Null and an error text if a constant part cannot be evaluated, or if its regular expressions are too large.
// Copies what it needs of its arguments and shares the environment's functions.
std::shared_ptr<const Plan> MakePlan(const Ast& ast, const CheckedTypes& checked,
                                     const Environment& environment, std::string& error);

}  // namespace berth::cel
