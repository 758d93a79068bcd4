// The nodes of a plan. They mirror cel-go's interpretable nodes, because the cost of an expression depends on
// which of them record results.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cel/cost.hpp"
#include "cel/evaluator.hpp"
#include "cel/functions.hpp"

namespace re2 {
class RE2;
}

namespace berth::cel {

class Node {
 public:
  virtual ~Node() = default;
  virtual std::int64_t id() const = 0;
  // Evaluates and records the result.
  Value Run(Evaluator& evaluator) const {
    Value value = Execute(evaluator);
    Observe(evaluator, value);
    return value;
  }

 protected:
  virtual Value Execute(Evaluator& evaluator) const = 0;
  virtual void Observe(Evaluator& evaluator, const Value& value) const { evaluator.Push(id(), value); }
};
using NodePtr = std::unique_ptr<Node>;

// A node with a fixed id.
class NumberedNode : public Node {
 public:
  explicit NumberedNode(std::int64_t id) : id_(id) {}
  std::int64_t id() const override { return id_; }

 private:
  const std::int64_t id_;
};

class ConstantNode final : public NumberedNode {
 public:
  ConstantNode(std::int64_t id, Value value) : NumberedNode(id), value_(std::move(value)) {}
  const Value& value() const { return value_; }

 protected:
  Value Execute(Evaluator&) const override { return value_; }

 private:
  const Value value_;
};

// ---- attributes: variables and the values reached from them by selection and indexing

class Attribute;
using AttributePtr = std::shared_ptr<Attribute>;

// One step of a path.
class Qualifier {
 public:
  enum class Kind : std::uint8_t {
    kConstant,
    kTestOnly,   // a constant whose presence is tested
    kAttribute,  // an index that is a variable or a path
    kRelative,   // an index that is any other expression
  };
  static Qualifier Constant(std::int64_t id, Value key, bool optional, bool test_only);
  static Qualifier Dynamic(Kind kind, std::int64_t id, AttributePtr key, bool optional);

  std::int64_t id() const { return id_; }
  bool optional() const { return optional_; }
  // The value at this step, or an error.
  Value Qualify(Evaluator& evaluator, const Value& object) const;
  // The same; absent if there is none.
  Value QualifyIfPresent(Evaluator& evaluator, const Value& object) const;

 private:
  Value Look(Evaluator& evaluator, const Value& object, bool test) const;
  void Observe(Evaluator& evaluator, const Value& value) const;

  Kind kind_ = Kind::kConstant;
  std::int64_t id_ = 0;
  Value key_;
  AttributePtr attribute_;
  bool optional_ = false;
};

class Attribute {
 public:
  virtual ~Attribute() = default;
  virtual std::int64_t id() const = 0;
  virtual void Add(const Qualifier& qualifier) = 0;
  virtual Value Resolve(Evaluator& evaluator) const = 0;
};

// An attribute with a path.
class PathAttribute : public Attribute {
 public:
  explicit PathAttribute(std::int64_t id) : id_(id) {}
  std::int64_t id() const override { return qualifiers_.empty() ? id_ : qualifiers_.back().id(); }
  void Add(const Qualifier& qualifier) override { qualifiers_.push_back(qualifier); }

 protected:
  Value Follow(Evaluator& evaluator, Value object) const;

 private:
  const std::int64_t id_;
  std::vector<Qualifier> qualifiers_;
};

class VariableAttribute final : public PathAttribute {
 public:
  VariableAttribute(std::int64_t id, std::size_t index) : PathAttribute(id), index_(index) {}
  Value Resolve(Evaluator& evaluator) const override { return Follow(evaluator, evaluator.Variable(index_)); }

 private:
  const std::size_t index_;
};

class SlotAttribute final : public PathAttribute {
 public:
  SlotAttribute(std::int64_t id, std::size_t slot) : PathAttribute(id), slot_(slot) {}
  Value Resolve(Evaluator& evaluator) const override;

 private:
  const std::size_t slot_;
};

class RelativeAttribute final : public PathAttribute {
 public:
  RelativeAttribute(std::int64_t id, NodePtr operand) : PathAttribute(id), operand_(std::move(operand)) {}
  Value Resolve(Evaluator& evaluator) const override;

 private:
  const NodePtr operand_;
};

class ConditionalAttribute final : public Attribute {
 public:
  ConditionalAttribute(std::int64_t id, NodePtr condition, AttributePtr truthy, AttributePtr falsy)
      : id_(id), condition_(std::move(condition)), truthy_(std::move(truthy)), falsy_(std::move(falsy)) {}
  std::int64_t id() const override { return truthy_->id() == falsy_->id() ? truthy_->id() : id_; }
  void Add(const Qualifier& qualifier) override {
    truthy_->Add(qualifier);
    falsy_->Add(qualifier);
  }
  Value Resolve(Evaluator& evaluator) const override;
  void DropParts(Evaluator& evaluator) const;

 private:
  const std::int64_t id_;
  const NodePtr condition_;
  const AttributePtr truthy_;
  const AttributePtr falsy_;
};

class AttributeNode final : public Node {
 public:
  explicit AttributeNode(AttributePtr attribute) : attribute_(std::move(attribute)) {}
  std::int64_t id() const override { return test_only_id_ == 0 ? attribute_->id() : test_only_id_; }
  const AttributePtr& attribute() const { return attribute_; }
  // Turns the node into has(): the path's last step tests presence.
  void SetTestOnly(std::int64_t id) { test_only_id_ = id; }

 protected:
  Value Execute(Evaluator& evaluator) const override;
  void Observe(Evaluator& evaluator, const Value& value) const override;

 private:
  const AttributePtr attribute_;
  std::int64_t test_only_id_ = 0;
};

// ---- operators with their own evaluation

class LogicNode final : public NumberedNode {
 public:
  // `absorbing`: the operand that decides the result, true for ||.
  LogicNode(std::int64_t id, bool absorbing, std::vector<NodePtr> terms)
      : NumberedNode(id), absorbing_(absorbing), terms_(std::move(terms)) {}

 protected:
  Value Execute(Evaluator& evaluator) const override;
  void Observe(Evaluator& evaluator, const Value& value) const override;

 private:
  const bool absorbing_;
  const std::vector<NodePtr> terms_;
};

// optional.or(optional) and optional.orValue(value).
class OptionalOrNode final : public NumberedNode {
 public:
  OptionalOrNode(std::int64_t id, NodePtr left, NodePtr right, bool value)
      : NumberedNode(id), left_(std::move(left)), right_(std::move(right)), value_(value) {}

 protected:
  Value Execute(Evaluator& evaluator) const override;

 private:
  const NodePtr left_;
  const NodePtr right_;
  const bool value_;
};

// `x in [constants]`.
class MembershipNode final : public NumberedNode {
 public:
  // Null if an element is not of a simple type.
  static std::unique_ptr<MembershipNode> Make(std::int64_t id, NodePtr& value, const Value& list);

 protected:
  Value Execute(Evaluator& evaluator) const override;

 private:
  MembershipNode(std::int64_t id, NodePtr value, Value set)
      : NumberedNode(id), value_(std::move(value)), set_(std::move(set)) {}
  const NodePtr value_;
  const Value set_;  // a map with the elements as keys
};

class FoldNode final : public NumberedNode {
 public:
  struct Parts {
    NodePtr range, init, condition, step, result;
    std::size_t accumulator = 0;  // slots
    std::size_t first = 0;
    std::size_t second = 0;
    bool two_variables = false;
  };
  FoldNode(std::int64_t id, Parts parts) : NumberedNode(id), parts_(std::move(parts)) {}
  // The initial value of the accumulator.
  Value Initialize(Evaluator& evaluator) const;

 protected:
  Value Execute(Evaluator& evaluator) const override;
  void Observe(Evaluator& evaluator, const Value& value) const override;

 private:
  enum class Next : std::uint8_t { kContinue, kStop, kInterrupted };
  Next Iterate(Evaluator& evaluator, Value first, Value second) const;
  Next IterateAll(Evaluator& evaluator, const Value& range) const;
  Value Result(Evaluator& evaluator) const;

  const Parts parts_;
};

// ---- constructors and calls

class ListNode final : public NumberedNode {
 public:
  ListNode(std::int64_t id, std::vector<NodePtr> elements, std::vector<bool> optionals)
      : NumberedNode(id), elements_(std::move(elements)), optionals_(std::move(optionals)) {}
  bool IsConstant() const;

 protected:
  Value Execute(Evaluator& evaluator) const override;
  void Observe(Evaluator& evaluator, const Value& value) const override;

 private:
  friend class Planner;
  const std::vector<NodePtr> elements_;
  const std::vector<bool> optionals_;  // empty: none
};

class MapNode final : public NumberedNode {
 public:
  struct Entry {
    NodePtr key, value;
    bool optional;
  };
  MapNode(std::int64_t id, std::vector<Entry> entries) : NumberedNode(id), entries_(std::move(entries)) {}
  bool IsConstant() const;

 protected:
  Value Execute(Evaluator& evaluator) const override;
  void Observe(Evaluator& evaluator, const Value& value) const override;

 private:
  friend class Planner;
  const std::vector<Entry> entries_;
};

// An object of a declared type. Such objects cannot be created: the result is an error.
class StructNode final : public NumberedNode {
 public:
  StructNode(std::int64_t id, std::string type, std::vector<NodePtr> values)
      : NumberedNode(id), type_(std::move(type)), values_(std::move(values)) {}

 protected:
  Value Execute(Evaluator& evaluator) const override;
  void Observe(Evaluator& evaluator, const Value& value) const override;

 private:
  const std::string type_;
  const std::vector<NodePtr> values_;
};

class CallNode final : public NumberedNode {
 public:
  // What runs: one overload, or (null) the overload of the function that matches the arguments, or the
  // function's singleton.
  struct Target {
    std::shared_ptr<const Function> function;
    int overload = -1;
    CallForm form = CallForm::kVariadic;
    std::shared_ptr<const re2::RE2> pattern;  // of a constant regular expression
    enum class Special : std::uint8_t {
      kNone,
      kEquals,
      kNotEquals,
      kMatches,
      kFind,
      kFindAll
    } special = Special::kNone;
  };
  CallNode(std::int64_t id, Target target, CostRule cost, std::vector<NodePtr> args)
      : NumberedNode(id), target_(std::move(target)), cost_(cost), args_(std::move(args)) {}
  const std::vector<NodePtr>& args() const { return args_; }
  Value Invoke(Budget& budget, Arguments args) const;
  // The result for constant arguments; may be an error. The cost remains that of the call.
  void set_result(Value result) { result_ = std::move(result); }

 protected:
  Value Execute(Evaluator& evaluator) const override;
  void Observe(Evaluator& evaluator, const Value& value) const override;

 private:
  Value InvokePattern(Budget& budget, Arguments args) const;
  Value InvokeSingleton(CallContext& context, Arguments args) const;
  Value InvokeOverload(CallContext& context, const Overload& overload, Arguments args) const;
  Value Dispatch(CallContext& context, Arguments args) const;
  bool Matches(const Overload& overload, Arguments args) const;
  Value NoMatch(Arguments args) const;

  const Target target_;
  const CostRule cost_;
  const std::vector<NodePtr> args_;
  Value result_;  // absent: not known
};

// The value of `key` in `object`, or an error; absent if there is none and `test`.
Value LookUp(const Value& object, const Value& key, bool test, Budget& budget);
// Whether a value may be an index; else an error.
Value CheckIndex(const Value& key);

}  // namespace berth::cel
