#include "kubernetes/cel/quantity_library.hpp"

#include "kubernetes/api/quantity_arithmetic.hpp"

namespace berth::cel {
namespace {

// cel-go has two Go types for quantities, and a sum is not equal to a literal on its left.
enum class Origin : std::uint8_t { kValue, kSum };

struct QuantityObject final : OpaqueObject {
  QuantityObject(api::Quantity q, Origin o) : quantity(std::move(q)), origin(o) {}
  const TypePtr& type() const override { return QuantityType(); }
  Value Equal(const OpaqueObject& other) const override {
    const auto& right = static_cast<const QuantityObject&>(other);
    if (right.origin == Origin::kSum) return Value::NoSuchOverload();
    return Value::Bool(quantity.Compare(right.quantity) == 0);
  }
  std::string Text() const override { return quantity.Canonical(); }
  std::string GoTypeName() const override {
    return origin == Origin::kSum ? "*cel.Quantity" : "cel.Quantity";
  }
  const api::Quantity quantity;
  const Origin origin;
};

const api::Quantity& QuantityOf(const Value& value) {
  return static_cast<const QuantityObject&>(value.opaque()).quantity;
}

Value Make(api::Quantity quantity, Origin origin) {
  return Value::FromObject(ValueKind::kOpaque, new QuantityObject(std::move(quantity), origin));
}

// Reading n digits takes time in the order of n * n.
bool SpendParsing(CallContext& context, const std::string& text) {
  return context.budget.Spend(text.size() + text.size() * text.size() / 4096);
}

Value ToQuantity(CallContext& context, Arguments args) {
  if (!SpendParsing(context, args[0].text())) return {};
  auto quantity = api::Quantity::Parse(args[0].text());
  return quantity ? QuantityValue(std::move(*quantity)) : Value::Error(quantity.error().message);
}

Value IsQuantity(CallContext& context, Arguments args) {
  if (!SpendParsing(context, args[0].text())) return {};
  return Value::Bool(api::Quantity::Parse(args[0].text()).has_value());
}

Value Sign(CallContext&, Arguments args) {
  return Value::Int(api::QuantityArithmetic::Sign(QuantityOf(args[0])));
}

int Order(Arguments args) { return QuantityOf(args[0]).Compare(QuantityOf(args[1])); }
Value IsGreater(CallContext&, Arguments args) { return Value::Bool(Order(args) > 0); }
Value IsLess(CallContext&, Arguments args) { return Value::Bool(Order(args) < 0); }
Value CompareTo(CallContext&, Arguments args) {
  const int order = Order(args);
  return Value::Int(order < 0 ? -1 : order > 0 ? 1 : 0);
}

Value AsApproximateFloat(CallContext&, Arguments args) {
  return Value::Double(api::QuantityArithmetic::AsApproximateDouble(QuantityOf(args[0])));
}

Value AsInteger(CallContext&, Arguments args) {
  const auto integer = api::QuantityArithmetic::AsInt64(QuantityOf(args[0]));
  return integer ? Value::Int(*integer) : Value::Error("cannot convert value to integer");
}

Value IsInteger(CallContext&, Arguments args) {
  return Value::Bool(api::QuantityArithmetic::AsInt64(QuantityOf(args[0])).has_value());
}

api::Quantity Operand(const Value& value) {
  return value.kind() == ValueKind::kInt ? api::Quantity::FromInteger(value.as_int()) : QuantityOf(value);
}

Value Sum(CallContext&, Arguments args) {
  api::Quantity quantity = QuantityOf(args[0]);
  quantity += Operand(args[1]);
  return Make(std::move(quantity), Origin::kSum);
}

Value Difference(CallContext&, Arguments args) {
  api::Quantity quantity = QuantityOf(args[0]);
  api::QuantityArithmetic::Subtract(quantity, Operand(args[1]));
  return Make(std::move(quantity), Origin::kSum);
}

}  // namespace

const TypePtr& QuantityType() {
  static const TypePtr type = ObjectOf("kubernetes.Quantity");
  return type;
}

Value QuantityValue(api::Quantity quantity) { return Make(std::move(quantity), Origin::kValue); }

void AddQuantityLibrary(FunctionRegistry& registry) {
  const TypePtr& q = QuantityType();
  registry.AddGlobal("quantity", "string_to_quantity", {StringType()}, q, ToQuantity);
  registry.AddGlobal("isQuantity", "is_quantity_string", {StringType()}, BoolType(), IsQuantity);
  registry.AddGlobal("sign", "quantity_sign", {q}, IntType(), Sign);
  registry.AddMember("isGreaterThan", "quantity_is_greater_than", {q, q}, BoolType(), IsGreater);
  registry.AddMember("isLessThan", "quantity_is_less_than", {q, q}, BoolType(), IsLess);
  registry.AddMember("compareTo", "quantity_compare_to", {q, q}, IntType(), CompareTo);
  registry.AddMember("asApproximateFloat", "quantity_get_float", {q}, DoubleType(), AsApproximateFloat);
  registry.AddMember("asInteger", "quantity_get_int", {q}, IntType(), AsInteger);
  registry.AddMember("isInteger", "quantity_is_integer", {q}, BoolType(), IsInteger);
  registry.AddMember("add", "quantity_add", {q, q}, q, Sum);
  registry.AddMember("add", "quantity_add_int", {q, IntType()}, q, Sum);
  registry.AddMember("sub", "quantity_sub", {q, q}, q, Difference);
  registry.AddMember("sub", "quantity_sub_int", {q, IntType()}, q, Difference);
}

}  // namespace berth::cel
