#include "cel/nodes.hpp"

#include <boost/container/small_vector.hpp>

#include "cel/library/regular_expressions.hpp"
#include "cel/numbers.hpp"

namespace berth::cel {
namespace {

constexpr std::uint64_t kSelectCost = 1;
constexpr std::uint64_t kListCost = 10;
constexpr std::uint64_t kMapCost = 30;
constexpr std::uint64_t kStructCost = 40;

using Values = boost::container::small_vector<Value, 4>;

// Removes the results of `nodes`, the last one first, and stops at the first one that is missing.
bool TakeAll(Evaluator& evaluator, const std::vector<NodePtr>& nodes, Values& values) {
  values.resize(nodes.size());
  for (std::size_t i = nodes.size(); i > 0; --i) {
    if (!evaluator.Take(nodes[i - 1]->id(), values[i - 1])) return false;
  }
  return true;
}

Value NotOptional(std::string what, const Value& value, Budget& budget) {
  return Value::Error("cannot initialize optional " + what + " from non-optional value " +
                      GoText(value, budget));
}

// cel-go fails where a value is the key of one of Go's maps and has a type that cannot be compared.
void RequireHashable(Evaluator& evaluator, const Value& key) {
  if (key.kind() != ValueKind::kBytes && key.kind() != ValueKind::kOpaque) return;
  const std::string type = GoTypeName(key);
  if (type != "types.Bytes" && type != "cel.Semver" && type != "cel.Format") return;
  evaluator.Cancel("internal error: runtime error: hash of unhashable type " + type);
}

bool IsConstantNode(const Node& node) { return dynamic_cast<const ConstantNode*>(&node) != nullptr; }

}  // namespace

// ---- lookups

Value CheckIndex(const Value& key) {
  switch (key.kind()) {
    case ValueKind::kBool:
    case ValueKind::kInt:
    case ValueKind::kUint:
    case ValueKind::kDouble:
    case ValueKind::kString:
      return {};
    case ValueKind::kError:
      return key;
    default:
      return Value::Error("invalid qualifier type: " + GoTypeName(key));
  }
}

Value LookUp(const Value& object, const Value& key, bool test, Budget& budget) {
  if (object.IsError()) return object;
  if (object.kind() == ValueKind::kMap) {
    if (const Value* found = object.map().Find(key)) return *found;
    if (!object.map().fallback.IsAbsent()) return object.map().fallback;
  } else if (object.kind() == ValueKind::kList) {
    Value index = ListIndex(key);
    if (index.IsError()) return index;
    if (index.as_int() >= 0 && index.as_int() < object.list().size) return object.list().At(index.as_int());
    return test ? Value() : Value::Error("index out of bounds: " + GoText(key, budget));
  }
  return test ? Value() : Value::Error("no such key: " + GoText(key, budget));
}

Qualifier Qualifier::Constant(std::int64_t id, Value key, bool optional, bool test_only) {
  Qualifier qualifier;
  qualifier.kind_ = test_only ? Kind::kTestOnly : Kind::kConstant;
  qualifier.id_ = id;
  qualifier.key_ = std::move(key);
  qualifier.optional_ = optional;
  return qualifier;
}

Qualifier Qualifier::Dynamic(Kind kind, std::int64_t id, AttributePtr key, bool optional) {
  Qualifier qualifier;
  qualifier.kind_ = kind;
  qualifier.id_ = id;
  qualifier.attribute_ = std::move(key);
  qualifier.optional_ = optional;
  return qualifier;
}

Value Qualifier::Look(Evaluator& evaluator, const Value& object, bool test) const {
  if (attribute_ == nullptr) return LookUp(object, key_, test, evaluator.budget());
  const Value key = attribute_->Resolve(evaluator);
  Value error = CheckIndex(key);
  return error.IsAbsent() ? LookUp(object, key, test, evaluator.budget()) : error;
}

Value Qualifier::Qualify(Evaluator& evaluator, const Value& object) const {
  Value value = Look(evaluator, object, kind_ == Kind::kTestOnly);
  if (kind_ == Kind::kTestOnly && !value.IsError()) value = Value::Bool(!value.IsAbsent());
  Observe(evaluator, value);
  return value;
}

Value Qualifier::QualifyIfPresent(Evaluator& evaluator, const Value& object) const {
  Value value = Look(evaluator, object, true);
  if (!value.IsAbsent() && !value.IsError()) Observe(evaluator, value);
  return value;
}

void Qualifier::Observe(Evaluator& evaluator, const Value& value) const {
  if (kind_ == Kind::kRelative) evaluator.Drop(attribute_->id());
  evaluator.AddCost(kSelectCost);
  evaluator.Push(id_, value);
}

// ---- attributes

Value PathAttribute::Follow(Evaluator& evaluator, Value object) const {
  if (object.IsError()) return object;
  bool optional = object.kind() == ValueKind::kOptional;
  if (optional) {
    if (object.optional().IsAbsent()) return object;
    object = Value(object.optional());
  }
  for (const Qualifier& qualifier : qualifiers_) {
    optional = optional || qualifier.optional();
    object = optional ? qualifier.QualifyIfPresent(evaluator, object) : qualifier.Qualify(evaluator, object);
    if (object.IsAbsent()) return Value::NoOptional();
    if (object.IsError()) return object;
  }
  return optional ? Value::Optional(std::move(object)) : object;
}

Value SlotAttribute::Resolve(Evaluator& evaluator) const {
  Slot& slot = evaluator.slot(slot_);
  if (slot.uninitialized != nullptr) {
    const FoldNode* fold = std::exchange(slot.uninitialized, nullptr);
    slot.value = fold->Initialize(evaluator);
  }
  return Follow(evaluator, slot.value);
}

Value RelativeAttribute::Resolve(Evaluator& evaluator) const {
  return Follow(evaluator, operand_->Run(evaluator));
}

Value ConditionalAttribute::Resolve(Evaluator& evaluator) const {
  Value condition = condition_->Run(evaluator);
  if (condition.IsTrue()) return truthy_->Resolve(evaluator);
  if (condition.IsFalse()) return falsy_->Resolve(evaluator);
  return condition.IsError() ? condition : Value::NoSuchOverload();
}

void ConditionalAttribute::DropParts(Evaluator& evaluator) const {
  evaluator.Drop(falsy_->id());
  evaluator.Drop(truthy_->id());
  evaluator.Drop(condition_->id());
}

Value AttributeNode::Execute(Evaluator& evaluator) const {
  Value value = attribute_->Resolve(evaluator);
  if (test_only_id_ != 0 && value.kind() == ValueKind::kOptional)
    return Value::Bool(!value.optional().IsAbsent());
  return value;
}

void AttributeNode::Observe(Evaluator& evaluator, const Value& value) const {
  if (const auto* conditional = dynamic_cast<const ConditionalAttribute*>(attribute_.get())) {
    conditional->DropParts(evaluator);
    if (test_only_id_ != 0) evaluator.SubtractCost(kSelectCost);
  } else {
    evaluator.Drop(attribute_->id());
    if (test_only_id_ == 0) evaluator.AddCost(kSelectCost);  // has() is free in Kubernetes
  }
  evaluator.Push(id(), value);
}

// ---- operators

Value LogicNode::Execute(Evaluator& evaluator) const {
  Value error;
  for (const NodePtr& term : terms_) {
    Value value = term->Run(evaluator);
    if (value.kind() == ValueKind::kBool) {
      if (value.as_bool() == absorbing_) return value;
    } else if (error.IsAbsent()) {
      error = value.IsError() ? std::move(value) : Value::NoSuchOverload();
    }
  }
  return error.IsAbsent() ? Value::Bool(!absorbing_) : error;
}

void LogicNode::Observe(Evaluator& evaluator, const Value& value) const {
  for (const NodePtr& term : terms_) evaluator.Drop(term->id());
  evaluator.Push(id(), value);
}

Value OptionalOrNode::Execute(Evaluator& evaluator) const {
  Value left = left_->Run(evaluator);
  if (left.IsError()) return left;
  if (left.kind() != ValueKind::kOptional) return Value::NoSuchOverload();
  if (left.optional().IsAbsent()) return right_->Run(evaluator);
  return value_ ? Value(left.optional()) : left;
}

std::unique_ptr<MembershipNode> MembershipNode::Make(std::int64_t id, NodePtr& value, const Value& list) {
  std::vector<std::pair<Value, Value>> set;
  const auto add = [&](Value key) { set.emplace_back(std::move(key), Value::Bool(true)); };
  for (std::int64_t i = 0; i < list.list().size; ++i) {
    const Value& element = list.list().At(i);
    add(element);
    switch (element.kind()) {
      case ValueKind::kBool:
      case ValueKind::kString:
        break;
      case ValueKind::kDouble:
        if (const auto integer = ExactInt(element.as_double())) add(Value::Int(*integer));
        if (const auto integer = ExactUint(element.as_double())) add(Value::Uint(*integer));
        break;
      case ValueKind::kInt:
        add(Value::Double(static_cast<double>(element.as_int())));
        if (element.as_int() >= 0) add(Value::Uint(element.as_uint()));
        break;
      case ValueKind::kUint:
        add(Value::Double(static_cast<double>(element.as_uint())));
        if (element.as_int() >= 0) add(Value::Int(element.as_int()));
        break;
      default:
        return nullptr;
    }
  }
  return std::unique_ptr<MembershipNode>(
      new MembershipNode(id, std::move(value), Value::Map(std::move(set))));
}

Value MembershipNode::Execute(Evaluator& evaluator) const {
  Value value = value_->Run(evaluator);
  if (value.IsError()) return value;
  RequireHashable(evaluator, value);
  return Value::Bool(set_.map().FindExact(value) != nullptr);
}

// ---- comprehensions

Value FoldNode::Initialize(Evaluator& evaluator) const {
  Value value = parts_.init->Run(evaluator);
  if (value.kind() == ValueKind::kList && value.list().size == 0) {
    value = Value::List({});
    value.mutable_list().accumulator = true;
  } else if (value.kind() == ValueKind::kMap && value.map().entries.empty()) {
    value = Value::Map({});
    value.mutable_map().accumulator = true;
  }
  return value;
}

Value FoldNode::Execute(Evaluator& evaluator) const {
  Value range = parts_.range->Run(evaluator);
  if (range.IsError()) return range;
  const bool iterable = range.kind() == ValueKind::kList || range.kind() == ValueKind::kMap;
  if (!iterable) {
    return Value::Error(parts_.two_variables ? "unsupported comprehension range type: " + GoTypeName(range)
                                             : "got '" + GoTypeName(range) + "', expected iterable type");
  }
  evaluator.slot(parts_.accumulator) = {{}, this};
  const Next last = IterateAll(evaluator, range);
  Value result = last == Next::kInterrupted ? Value::Error("operation interrupted") : Result(evaluator);
  evaluator.slot(parts_.accumulator) = {};
  evaluator.slot(parts_.first) = {};
  if (parts_.two_variables) evaluator.slot(parts_.second) = {};
  return result;
}

FoldNode::Next FoldNode::IterateAll(Evaluator& evaluator, const Value& range) const {
  Next next = Next::kContinue;
  if (range.kind() == ValueKind::kMap) {
    const auto& entries = range.map().entries;
    for (std::size_t i = 0; i < entries.size() && next == Next::kContinue; ++i) {
      const auto [key, value] = entries[i];
      next = Iterate(evaluator, key, parts_.two_variables ? value : Value());
    }
    return next;
  }
  const ListObject& list = range.list();
  const std::int64_t size = list.size;
  for (std::int64_t i = 0; next == Next::kContinue; ++i) {
    // With two variables cel-go sees elements that are appended to the list meanwhile.
    if (i >= (parts_.two_variables ? list.size : size)) break;
    next = parts_.two_variables ? Iterate(evaluator, Value::Int(i), list.At(i))
                                : Iterate(evaluator, list.At(i), {});
  }
  return next;
}

FoldNode::Next FoldNode::Iterate(Evaluator& evaluator, Value first, Value second) const {
  if (evaluator.cancelled()) return Next::kStop;
  evaluator.slot(parts_.first).value = std::move(first);
  if (parts_.two_variables) evaluator.slot(parts_.second).value = std::move(second);
  if (parts_.condition->Run(evaluator).IsFalse()) return Next::kStop;
  Value accumulator = parts_.step->Run(evaluator);
  evaluator.slot(parts_.accumulator) = {std::move(accumulator), nullptr};
  return evaluator.CheckInterrupt() ? Next::kInterrupted : Next::kContinue;
}

Value FoldNode::Result(Evaluator& evaluator) const {
  Value result = parts_.result->Run(evaluator);
  // Nothing else refers to the accumulator any more.
  if (result.kind() == ValueKind::kList && result.list().accumulator)
    result.mutable_list().accumulator = false;
  if (result.kind() == ValueKind::kMap && result.map().accumulator) result.mutable_map().accumulator = false;
  return result;
}

void FoldNode::Observe(Evaluator& evaluator, const Value& value) const {
  evaluator.Drop(parts_.range->id());
  evaluator.Push(id(), value);
}

// ---- constructors

bool ListNode::IsConstant() const {
  for (const NodePtr& element : elements_) {
    if (!IsConstantNode(*element)) return false;
  }
  return true;
}

Value ListNode::Execute(Evaluator& evaluator) const {
  std::vector<Value> values;
  values.reserve(elements_.size());
  for (std::size_t i = 0; i < elements_.size(); ++i) {
    Value value = elements_[i]->Run(evaluator);
    if (value.IsError()) return value;
    if (!optionals_.empty() && optionals_[i]) {
      if (value.kind() != ValueKind::kOptional) return NotOptional("list element", value, evaluator.budget());
      if (value.optional().IsAbsent()) continue;
      value = Value(value.optional());
    }
    values.push_back(std::move(value));
  }
  return Value::List(std::move(values));
}

void ListNode::Observe(Evaluator& evaluator, const Value& value) const {
  Values ignored;
  TakeAll(evaluator, elements_, ignored);
  evaluator.AddCost(kListCost);
  evaluator.Push(id(), value);
}

bool MapNode::IsConstant() const {
  for (const Entry& entry : entries_) {
    if (!IsConstantNode(*entry.key) || !IsConstantNode(*entry.value)) return false;
  }
  return true;
}

Value MapNode::Execute(Evaluator& evaluator) const {
  Value map = Value::Map({});
  MapObject& entries = map.mutable_map();
  for (const Entry& entry : entries_) {
    Value key = entry.key->Run(evaluator);
    if (key.IsError()) return key;
    Value value = entry.value->Run(evaluator);
    if (value.IsError()) return value;
    if (entry.optional) {
      if (value.kind() != ValueKind::kOptional) {
        return NotOptional("entry '" + GoText(key, evaluator.budget()) + "'", value, evaluator.budget());
      }
      if (value.optional().IsAbsent()) {
        entries.Erase(key);
        continue;
      }
      value = Value(value.optional());
    }
    RequireHashable(evaluator, key);
    const int depth = std::max(DepthOf(key), DepthOf(value));
    if (depth >= kMaxValueDepth) return Value::Error("values are nested too deeply");
    entries.depth = std::max(entries.depth, depth + 1);
    entries.Set(std::move(key), std::move(value));
  }
  return map;
}

void MapNode::Observe(Evaluator& evaluator, const Value& value) const {
  Value ignored;
  for (std::size_t i = entries_.size(); i > 0; --i) {
    if (!evaluator.Take(entries_[i - 1].value->id(), ignored)) break;
    if (!evaluator.Take(entries_[i - 1].key->id(), ignored)) break;
  }
  evaluator.AddCost(kMapCost);
  evaluator.Push(id(), value);
}

Value StructNode::Execute(Evaluator& evaluator) const {
  for (const NodePtr& node : values_) {
    Value value = node->Run(evaluator);
    if (value.IsError()) return value;
  }
  return Value::Error("unknown type '" + type_ + "'");
}

void StructNode::Observe(Evaluator& evaluator, const Value& value) const {
  Values ignored;
  TakeAll(evaluator, values_, ignored);
  evaluator.AddCost(kStructCost);
  evaluator.Push(id(), value);
}

// ---- calls

Value CallNode::Execute(Evaluator& evaluator) const {
  Values args;
  args.resize(args_.size());
  const bool stop_at_error = target_.form == CallForm::kVariadic;
  const bool strict = target_.overload < 0 ||
                      !target_.function->overloads[static_cast<std::size_t>(target_.overload)].non_strict;
  for (std::size_t i = 0; i < args_.size(); ++i) {
    args[i] = args_[i]->Run(evaluator);
    if (stop_at_error && strict && args[i].IsError()) return std::move(args[i]);
  }
  if (strict) {
    for (Value& arg : args) {
      if (arg.IsError()) return std::move(arg);
    }
  }
  if (!result_.IsAbsent()) return result_;
  return Invoke(evaluator.budget(), {args.data(), args.size()});
}

void CallNode::Observe(Evaluator& evaluator, const Value& value) const {
  Values args;
  if (TakeAll(evaluator, args_, args)) {
    const char* failure = nullptr;
    evaluator.AddCost(CallCost(cost_, {args.data(), args.size()}, value, evaluator.budget(), failure));
    if (failure != nullptr) evaluator.Cancel(std::string("internal error: ") + failure);
  }
  evaluator.Push(id(), value);
}

Value CallNode::Invoke(Budget& budget, Arguments args) const {
  using Special = Target::Special;
  if (target_.special == Special::kEquals) return Equals(args[0], args[1], budget);
  if (target_.special == Special::kNotEquals) return Value::Bool(!Equals(args[0], args[1], budget).IsTrue());
  if (target_.pattern != nullptr) return InvokePattern(budget, args);
  CallContext context{budget};
  if (target_.function->singleton != nullptr) return InvokeSingleton(context, args);
  if (target_.overload < 0) return Dispatch(context, args);
  return InvokeOverload(context, target_.function->overloads[static_cast<std::size_t>(target_.overload)],
                        args);
}

Value CallNode::InvokePattern(Budget& budget, Arguments args) const {
  if (args[0].kind() != ValueKind::kString) return Value::NoSuchOverload();
  const std::string& text = args[0].text();
  switch (target_.special) {
    case Target::Special::kMatches:
      return MatchPattern(*target_.pattern, text, budget);
    case Target::Special::kFind:
      return FindPattern(*target_.pattern, text, budget);
    default: {
      std::int64_t limit = -1;
      if (args.size() == 3) {
        if (args[2].kind() != ValueKind::kInt) return Value::NoSuchOverload();
        limit = args[2].as_int();
      }
      return FindAllPattern(*target_.pattern, text, limit, budget);
    }
  }
}

Value CallNode::InvokeSingleton(CallContext& context, Arguments args) const {
  if (HasTrait(args[0], target_.function->operand_trait)) return target_.function->singleton(context, args);
  // Strings and times have functions of their own, which cel-go asks next.
  switch (args[0].kind()) {
    case ValueKind::kString:
    case ValueKind::kDuration:
    case ValueKind::kTimestamp:
      return Value::NoSuchOverload();
    default:
      return Value::Error("no such overload: " + target_.function->name);
  }
}

bool CallNode::Matches(const Overload& overload, Arguments args) const {
  if (overload.args.size() != args.size()) return false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (overload.non_strict && args[i].IsError()) continue;
    if (args[i].IsError()) return false;
    if (target_.function->type_guards && !MatchesRuntimeType(*overload.args[i], args[i])) return false;
  }
  return true;
}

Value CallNode::InvokeOverload(CallContext& context, const Overload& overload, Arguments args) const {
  return Matches(overload, args) ? overload.implementation(context, args) : NoMatch(args);
}

Value CallNode::Dispatch(CallContext& context, Arguments args) const {
  for (const Overload& overload : target_.function->overloads) {
    if (overload.implementation != nullptr && Matches(overload, args))
      return overload.implementation(context, args);
  }
  return NoMatch(args);
}

Value CallNode::NoMatch(Arguments args) const {
  std::string message = "no such overload: " + target_.function->name + "(";
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].IsError()) return args[i];
    if (i > 0) message += ", ";
    message += RuntimeTypeName(args[i]);
  }
  return Value::Error(message + ")");
}

}  // namespace berth::cel
