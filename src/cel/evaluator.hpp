// The state of one evaluation: variables, cost, and the stack of intermediate results from which costs are
// computed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cel/cel.hpp"
#include "cel/value.hpp"

namespace berth::cel {

class FoldNode;

// A variable of a comprehension. The accumulator is initialized when it is read for the first time.
struct Slot {
  Value value;
  const FoldNode* uninitialized = nullptr;
};

// cel-go pushes every result on a stack and finds the arguments of a call there by the ids of their
// expressions. Results that are not consumed stay, so that an id may find the result of an earlier iteration;
// such costs are part of cel-go's behaviour and reproduced here.
class Evaluator {
 public:
  Evaluator(std::span<const Value> variables, std::size_t slots, const EvaluationOptions& options);

  const Value& Variable(std::size_t index) const { return variables_[index]; }
  Slot& slot(std::size_t index) { return slots_[index]; }
  Budget& budget() { return budget_; }

  void AddCost(std::uint64_t cost) {
    if (!cancelled_) cost_ += cost;
  }
  void SubtractCost(std::uint64_t cost) {
    if (!cancelled_) cost_ -= cost;
  }
  std::uint64_t cost() const { return cost_; }
  std::uint64_t Effort() const;  // see Evaluation

  // Records a result and cancels the evaluation if it has become too expensive.
  void Push(std::int64_t id, const Value& value);
  // Removes the newest result of `id` and everything newer; nothing if there is none.
  void Drop(std::int64_t id);
  // The same, moving the result to `value`; false if there is none.
  bool Take(std::int64_t id, Value& value);

  // After one iteration of a comprehension: whether the caller has cancelled the evaluation.
  bool CheckInterrupt();

  // Ends the evaluation with an error. Nodes that are running return whatever they like.
  void Cancel(std::string message);
  bool cancelled() const { return cancelled_; }
  const std::string& cancellation() const { return cancellation_; }

 private:
  struct Result {
    std::int64_t id;
    Value value;
    std::size_t older;  // as in newest_
  };
  std::size_t Newest(std::int64_t id) const;
  void Append(std::int64_t id, Value value, std::size_t older);
  void Truncate(std::size_t size);
  void Compact();

  std::span<const Value> variables_;
  const EvaluationOptions& options_;
  std::vector<Slot> slots_;
  std::vector<Result> results_;
  // By id: the number of results up to its newest one, 0 if it has none. Searching the results would take
  // long when many have been left behind.
  std::vector<std::size_t> newest_;
  std::size_t compact_at_;
  Budget budget_;
  std::uint64_t cost_ = 0;
  std::uint64_t iterations_ = 0;
  bool cancelled_ = false;
  bool interrupted_ = false;
  std::string cancellation_;
};

}  // namespace berth::cel
