#include <algorithm>

#include "base/check.hpp"
#include "cel/library/regular_expressions.hpp"
#include "cel/nodes.hpp"
#include "cel/parser.hpp"
#include "cel/plan.hpp"

namespace berth::cel {

namespace {

bool IsConversion(std::string_view function) {
  constexpr std::string_view kNames[] = {"bool", "bytes",  "double",    "duration", "dyn",
                                         "int",  "string", "timestamp", "type",     "uint"};
  return std::find(std::begin(kNames), std::end(kNames), function) != std::end(kNames);
}

constexpr std::size_t kBytesPerNode = 200;  // an upper estimate

// Functions of one text that always give an equal value, which is used in later calls.
bool ParsesText(std::string_view function) { return function == "quantity" || function == "semver"; }

class TreePlan final : public Plan {
 public:
  TreePlan(NodePtr root, std::size_t slots, std::size_t memory)
      : root_(std::move(root)), slots_(slots), memory_(memory) {}

  Evaluation Evaluate(std::span<const Value> variables, const EvaluationOptions& options) const override {
    Evaluator evaluator(variables, slots_, options);
    Value value = root_->Run(evaluator);
    if (evaluator.cancelled()) value = Value::Error(evaluator.cancellation());
    return {std::move(value), evaluator.cost(), evaluator.Effort()};
  }
  std::size_t Memory() const override { return memory_; }

 private:
  const NodePtr root_;
  const std::size_t slots_;
  const std::size_t memory_;
};

}  // namespace

// Turns the checked tree into nodes. Constant lists, maps and conversions are evaluated here, constant
// regular expressions are compiled.
class Planner {
 public:
  Planner(const CheckedTypes& checked, const Environment& environment)
      : checked_(checked), environment_(environment) {}

  // Null after an error.
  NodePtr Plan(const Expr* e) {
    if (!error_.empty()) return nullptr;
    NodePtr node = PlanKind(e);
    return error_.empty() ? std::move(node) : nullptr;
  }

  const std::string& error() const { return error_; }
  std::size_t slots() const { return slots_; }
  std::size_t pattern_memory() const { return pattern_memory_; }

 private:
  struct Variable {
    std::string_view name;
    std::size_t slot;
  };

  NodePtr PlanKind(const Expr* e) {
    switch (e->kind) {
      case ExprKind::kLiteral:
        return std::make_unique<ConstantNode>(e->id, e->literal);
      case ExprKind::kIdent:
        return Ident(e);
      case ExprKind::kSelect:
        return Select(e);
      case ExprKind::kCall:
        return Call(e);
      case ExprKind::kList:
        return List(e);
      case ExprKind::kMap:
        return Map(e);
      case ExprKind::kStruct:
        return Struct(e);
      case ExprKind::kComprehension:
        return Fold(e);
      case ExprKind::kUnspecified:
        break;
    }
    BERTH_CHECK(false, static_cast<int>(e->kind));
  }

  NodePtr Fail(std::string error) {
    if (error_.empty()) error_ = std::move(error);
    return nullptr;
  }

  // ---- attributes

  NodePtr Ident(const Expr* e) {
    std::string_view name = e->name;
    const bool global = name.starts_with('.');
    if (global) name.remove_prefix(1);
    if (!global) {
      for (auto at = variables_.rbegin(); at != variables_.rend(); ++at) {
        if (at->name == name) {
          return std::make_unique<AttributeNode>(std::make_shared<SlotAttribute>(e->id, at->slot));
        }
      }
    }
    if (const int index = environment_.VariableIndex(name); index >= 0) {
      return std::make_unique<AttributeNode>(
          std::make_shared<VariableAttribute>(e->id, static_cast<std::size_t>(index)));
    }
    TypePtr type = environment_.FindType(name, true);
    if (type == nullptr) return Fail("reference to undefined type: " + std::string(name));
    return std::make_unique<ConstantNode>(e->id, Value::Type(std::move(type)));
  }

  NodePtr Select(const Expr* e) {
    NodePtr operand = AsAttribute(Plan(e->target));
    if (operand == nullptr) return nullptr;
    auto& attribute = static_cast<AttributeNode&>(*operand);
    attribute.attribute()->Add(Qualifier::Constant(e->id, Value::String(e->name), false, e->test_only));
    if (e->test_only) attribute.SetTestOnly(e->id);
    return operand;
  }

  NodePtr Index(const Expr* e, std::vector<NodePtr> args, bool optional) {
    NodePtr operand = AsAttribute(std::move(args[0]));
    NodePtr& index = args[1];
    Qualifier qualifier;
    if (const auto* constant = dynamic_cast<const ConstantNode*>(index.get())) {
      const Value wrong = CheckIndex(constant->value());
      if (!wrong.IsAbsent()) return Fail(IndexError(constant->value()));
      qualifier = Qualifier::Constant(e->id, constant->value(), optional, false);
    } else if (const auto* attribute = dynamic_cast<const AttributeNode*>(index.get())) {
      qualifier = Qualifier::Dynamic(Qualifier::Kind::kAttribute, e->id, attribute->attribute(), optional);
    } else {
      auto relative = std::make_shared<RelativeAttribute>(e->id, std::move(index));
      qualifier = Qualifier::Dynamic(Qualifier::Kind::kRelative, e->id, std::move(relative), optional);
    }
    static_cast<AttributeNode&>(*operand).attribute()->Add(qualifier);
    return operand;
  }

  static std::string IndexError(const Value& index) { return "invalid qualifier type: " + GoTypeName(index); }

  // The node itself if it is an attribute, else an attribute with the node as its root.
  static NodePtr AsAttribute(NodePtr node) {
    if (node == nullptr || dynamic_cast<AttributeNode*>(node.get()) != nullptr) return node;
    const std::int64_t id = node->id();
    return std::make_unique<AttributeNode>(std::make_shared<RelativeAttribute>(id, std::move(node)));
  }

  static AttributePtr AttributeOf(NodePtr node) {
    if (const auto* attribute = dynamic_cast<const AttributeNode*>(node.get())) return attribute->attribute();
    const std::int64_t id = node->id();
    return std::make_shared<RelativeAttribute>(id, std::move(node));
  }

  // ---- calls

  NodePtr Call(const Expr* e) {
    std::vector<NodePtr> args;
    if (e->member) args.push_back(Plan(e->target));
    for (const Expr* arg : e->args) args.push_back(Plan(arg));
    if (!error_.empty()) return nullptr;
    if (e->name == operators::kAnd) return std::make_unique<LogicNode>(e->id, false, std::move(args));
    if (e->name == operators::kOr) return std::make_unique<LogicNode>(e->id, true, std::move(args));
    if (e->name == operators::kConditional) return Conditional(e, std::move(args));
    if (e->name == operators::kIndex) return Index(e, std::move(args), false);
    if (e->name == operators::kOptionalIndex || e->name == operators::kOptionalSelect) {
      return Index(e, std::move(args), true);
    }
    return FunctionCall(e, std::move(args));
  }

  NodePtr Conditional(const Expr* e, std::vector<NodePtr> args) {
    AttributePtr truthy = AttributeOf(std::move(args[1]));
    AttributePtr falsy = AttributeOf(std::move(args[2]));
    return std::make_unique<AttributeNode>(std::make_shared<ConditionalAttribute>(
        e->id, std::move(args[0]), std::move(truthy), std::move(falsy)));
  }

  NodePtr FunctionCall(const Expr* e, std::vector<NodePtr> args) {
    const Reference& reference = checked_.ReferenceOf(e);
    const std::string overload = reference.overloads.size() == 1 ? reference.overloads[0]->id : std::string();
    if (args.size() == 2 && (e->name == "or" || e->name == "orValue")) {
      return std::make_unique<OptionalOrNode>(e->id, std::move(args[0]), std::move(args[1]),
                                              e->name == "orValue");
    }
    if (overload == "in_list") {
      if (const auto* list = dynamic_cast<const ConstantNode*>(args[1].get());
          list != nullptr && list->value().kind() == ValueKind::kList) {
        if (list->value().list().size == 0) return std::make_unique<ConstantNode>(e->id, Value::Bool(false));
        if (auto node = MembershipNode::Make(e->id, args[0], list->value())) return node;
      }
    }
    CallNode::Target target = TargetOf(e->name, overload);
    const CostRule cost = CostRuleOf(e->name, overload);
    if (!BindPattern(e->name, args, target)) return nullptr;
    auto call = std::make_unique<CallNode>(e->id, std::move(target), cost, std::move(args));
    if (IsConversion(e->name) && call->args().size() == 1) {
      if (const auto* constant = dynamic_cast<const ConstantNode*>(call->args()[0].get())) {
        return FoldConversion(e, *call, constant->value());
      }
    }
    if (ParsesText(e->name) && call->args().size() == 1) {
      const auto* constant = dynamic_cast<const ConstantNode*>(call->args()[0].get());
      if (constant != nullptr && constant->value().kind() == ValueKind::kString) {
        Budget budget(kFoldingBudget);
        call->set_result(call->Invoke(budget, {&constant->value(), 1}));
      }
    }
    return call;
  }

  NodePtr FoldConversion(const Expr* e, const CallNode& call, const Value& argument) {
    Budget budget(kFoldingBudget);
    Value value = argument.IsError() ? argument : call.Invoke(budget, {&argument, 1});
    if (value.IsError()) return Fail(value.text());
    return std::make_unique<ConstantNode>(e->id, std::move(value));
  }

  CallNode::Target TargetOf(const std::string& name, const std::string& overload) const {
    using Special = CallNode::Target::Special;
    CallNode::Target target;
    target.function = environment_.functions().Share(name);
    BERTH_CHECK(target.function != nullptr, name);
    const Function* function = target.function.get();
    if (name == operators::kEquals || name == operators::kNotEquals) {
      target.special = name == operators::kEquals ? Special::kEquals : Special::kNotEquals;
      target.form = CallForm::kBinary;
      return target;
    }
    if (function->singleton != nullptr) {
      target.form = function->singleton_form;
      return target;
    }
    const auto bound = [](const Overload& candidate) { return candidate.implementation != nullptr; };
    const auto& overloads = function->overloads;
    auto chosen = std::find_if(overloads.begin(), overloads.end(),
                               [&](const Overload& o) { return bound(o) && o.id == overload; });
    if (chosen == overloads.end() && std::count_if(overloads.begin(), overloads.end(), bound) == 1) {
      chosen = std::find_if(overloads.begin(), overloads.end(), bound);
    }
    if (chosen != overloads.end()) {
      target.overload = static_cast<int>(chosen - overloads.begin());
      target.form = chosen->form;
    }
    return target;
  }

  // A constant regular expression is compiled; false if it is wrong.
  bool BindPattern(const std::string& name, const std::vector<NodePtr>& args, CallNode::Target& target) {
    using Special = CallNode::Target::Special;
    const Special special = name == "matches"   ? Special::kMatches
                            : name == "find"    ? Special::kFind
                            : name == "findAll" ? Special::kFindAll
                                                : Special::kNone;
    if (special == Special::kNone || args.size() < 2) return true;
    const auto* pattern = dynamic_cast<const ConstantNode*>(args[1].get());
    if (pattern == nullptr || pattern->value().kind() != ValueKind::kString) return true;
    std::string error;
    target.pattern = CompilePattern(pattern->value().text(), error, pattern_budget_);
    if (target.pattern == nullptr) {
      Fail(error);
      return false;
    }
    pattern_memory_ += PatternMemory(*target.pattern);
    target.special = special;
    target.form = CallForm::kVariadic;
    return true;
  }

  // ---- constructors

  NodePtr List(const Expr* e) {
    std::vector<NodePtr> elements;
    for (const Expr* arg : e->args) elements.push_back(Plan(arg));
    if (!error_.empty()) return nullptr;
    auto list = std::make_unique<ListNode>(e->id, std::move(elements), e->optionals);
    return list->IsConstant() ? Constant(e->id, *list) : std::move(list);
  }

  NodePtr Map(const Expr* e) {
    std::vector<MapNode::Entry> entries;
    for (const ExprEntry& entry : e->entries) {
      NodePtr key = Plan(entry.key);
      entries.push_back({std::move(key), Plan(entry.value), entry.optional});
    }
    if (!error_.empty()) return nullptr;
    auto map = std::make_unique<MapNode>(e->id, std::move(entries));
    return map->IsConstant() ? Constant(e->id, *map) : std::move(map);
  }

  template <class Constructor>
  static NodePtr Constant(std::int64_t id, const Constructor& node) {
    const EvaluationOptions options;
    Evaluator evaluator({}, 0, options);
    Value value = node.Execute(evaluator);
    if (evaluator.cancelled()) value = Value::Error(evaluator.cancellation());
    return std::make_unique<ConstantNode>(id, std::move(value));
  }

  NodePtr Struct(const Expr* e) {
    std::vector<NodePtr> values;
    for (const ExprEntry& entry : e->entries) values.push_back(Plan(entry.value));
    if (!error_.empty()) return nullptr;
    return std::make_unique<StructNode>(e->id, e->name, std::move(values));
  }

  NodePtr Fold(const Expr* e) {
    FoldNode::Parts parts;
    parts.init = Plan(e->init);
    parts.range = Plan(e->range);
    const std::size_t outer = variables_.size();
    parts.accumulator = slots_++;
    variables_.push_back({e->accumulator, parts.accumulator});
    const std::size_t inner = variables_.size();
    parts.first = slots_++;
    variables_.push_back({e->variable, parts.first});
    parts.two_variables = !e->second_variable.empty();
    if (parts.two_variables) {
      parts.second = slots_++;
      variables_.push_back({e->second_variable, parts.second});
    }
    parts.condition = Plan(e->condition);
    parts.step = Plan(e->step);
    variables_.resize(inner);
    parts.result = Plan(e->result);
    variables_.resize(outer);
    if (!error_.empty()) return nullptr;
    return std::make_unique<FoldNode>(e->id, std::move(parts));
  }

  static constexpr std::uint64_t kFoldingBudget = 1'000'000;

  const CheckedTypes& checked_;
  const Environment& environment_;
  std::vector<Variable> variables_;
  std::size_t slots_ = 0;
  Budget pattern_budget_{kPatternBudget};
  std::size_t pattern_memory_ = 0;
  std::string error_;
};

std::shared_ptr<const Plan> MakePlan(const Ast& ast, const CheckedTypes& checked,
                                     const Environment& environment, std::string& error) {
  Planner planner(checked, environment);
  NodePtr root = planner.Plan(ast.root);
  if (root == nullptr) {
    error = planner.error();
    return nullptr;
  }
  const std::size_t memory = static_cast<std::size_t>(ast.ids()) * kBytesPerNode + planner.pattern_memory();
  return std::make_shared<TreePlan>(std::move(root), planner.slots(), memory);
}

std::size_t Program::Memory() const { return plan_->Memory(); }

Evaluation Program::Evaluate(std::span<const Value> variables, const EvaluationOptions& options) const {
  return plan_->Evaluate(variables, options);
}

}  // namespace berth::cel
