// The standard functions and operators of the language.
#include <array>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/go_scalars.hpp"
#include "base/utf8.hpp"
#include "cel/functions.hpp"
#include "cel/library/regular_expressions.hpp"
#include "cel/numbers.hpp"
#include "cel/parser.hpp"
#include "cel/times.hpp"

namespace berth::cel {
namespace {

using K = ValueKind;

Value Overflow(bool is_unsigned = false) {
  return Value::Error(is_unsigned ? "unsigned integer overflow" : "integer overflow");
}
Value WrongOperand(const Value& value) { return value.IsError() ? value : Value::NoSuchOverload(); }

// ---- arithmetic

template <class Int, class Uint, class Double>
Value Arithmetic(const Value& a, const Value& b, Int on_int, Uint on_uint, Double on_double) {
  if (a.kind() != b.kind()) return WrongOperand(b);
  switch (a.kind()) {
    case K::kInt:
      return on_int(a.as_int(), b.as_int());
    case K::kUint:
      return on_uint(a.as_uint(), b.as_uint());
    case K::kDouble:
      return Value::Double(on_double(a.as_double(), b.as_double()));
    default:
      return WrongOperand(b);
  }
}

Value ConcatenateTexts(CallContext& context, const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return WrongOperand(b);
  if (!context.budget.Spend(a.text().size() + b.text().size())) return {};
  std::string text = a.text() + b.text();
  return a.kind() == K::kString ? Value::String(std::move(text)) : Value::Bytes(std::move(text));
}

Value AddDurations(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? Overflow() : Value::Duration(sum);
}

// Whether an element of `list` is or contains `wanted`, at any depth. Each object is visited once: elements
// are shared.
bool ContainsWithin(const ListObject& list, const HeapObject* wanted, Budget& budget) {
  if (list.depth < 2) return false;  // no element is a container
  std::vector<const Value*> open;
  boost::unordered_flat_set<const HeapObject*> visited;
  for (std::int64_t i = 0; i < list.size; ++i) open.push_back(&list.At(i));
  while (!open.empty()) {
    if (!budget.Spend(1)) return false;
    const Value& value = *open.back();
    open.pop_back();
    const int depth = DepthOf(value);
    if (depth > 0 && value.object() == wanted) return true;
    if (depth < 2 || !visited.insert(value.object()).second) continue;
    if (value.kind() == K::kOptional) {
      open.push_back(&value.optional());
    } else if (value.kind() == K::kMap) {
      for (const auto& [key, element] : value.map().entries) open.push_back(&element);
      open.push_back(&value.map().fallback);
    } else if (value.list().concatenated()) {
      open.push_back(&value.list().first);
      open.push_back(&value.list().second);
    } else {
      for (const Value& element : value.list().elements) open.push_back(&element);
    }
  }
  return false;
}

Value AddLists(CallContext& context, const Value& a, const Value& b) {
  if (a.list().accumulator) {
    if (!context.budget.Spend(static_cast<std::uint64_t>(b.list().size))) return {};
    // cel.bind(x, dyn([]), x + [x]): x grows in place and would contain itself, which no function on values
    // expects.
    if (ContainsWithin(b.list(), a.object(), context.budget))
      return Value::Error("values are nested too deeply");
    if (context.budget.exhausted()) return {};
  }
  return Concatenate(a, b);
}

Value Add(CallContext& context, Arguments args) {
  const Value& a = args[0];
  const Value& b = args[1];
  switch (a.kind()) {
    case K::kString:
    case K::kBytes:
      return ConcatenateTexts(context, a, b);
    case K::kList:
      return b.kind() == K::kList ? AddLists(context, a, b) : WrongOperand(b);
    case K::kDuration:
      if (b.kind() == K::kDuration) return AddDurations(a.as_int(), b.as_int());
      return b.kind() == K::kTimestamp ? AddDuration(b, a.as_int()) : WrongOperand(b);
    case K::kTimestamp:
      return b.kind() == K::kDuration ? AddDuration(a, b.as_int()) : WrongOperand(b);
    default:
      break;
  }
  return Arithmetic(
      a, b,
      [](std::int64_t x, std::int64_t y) {
        std::int64_t sum = 0;
        return __builtin_add_overflow(x, y, &sum) ? Overflow() : Value::Int(sum);
      },
      [](std::uint64_t x, std::uint64_t y) {
        std::uint64_t sum = 0;
        return __builtin_add_overflow(x, y, &sum) ? Overflow(true) : Value::Uint(sum);
      },
      [](double x, double y) { return x + y; });
}

Value Subtract(CallContext&, Arguments args) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (a.kind() == K::kDuration) {
    if (b.kind() != K::kDuration) return WrongOperand(b);
    std::int64_t difference = 0;
    return __builtin_sub_overflow(a.as_int(), b.as_int(), &difference) ? Overflow()
                                                                       : Value::Duration(difference);
  }
  if (a.kind() == K::kTimestamp) {
    if (b.kind() == K::kTimestamp) return SubtractTimestamps(a, b);
    if (b.kind() != K::kDuration) return WrongOperand(b);
    if (b.as_int() == std::numeric_limits<std::int64_t>::min()) return Overflow();
    return AddDuration(a, -b.as_int());
  }
  return Arithmetic(
      a, b,
      [](std::int64_t x, std::int64_t y) {
        std::int64_t difference = 0;
        return __builtin_sub_overflow(x, y, &difference) ? Overflow() : Value::Int(difference);
      },
      [](std::uint64_t x, std::uint64_t y) { return y > x ? Overflow(true) : Value::Uint(x - y); },
      [](double x, double y) { return x - y; });
}

Value Multiply(CallContext&, Arguments args) {
  return Arithmetic(
      args[0], args[1],
      [](std::int64_t x, std::int64_t y) {
        std::int64_t product = 0;
        return __builtin_mul_overflow(x, y, &product) ? Overflow() : Value::Int(product);
      },
      [](std::uint64_t x, std::uint64_t y) {
        std::uint64_t product = 0;
        return __builtin_mul_overflow(x, y, &product) ? Overflow(true) : Value::Uint(product);
      },
      [](double x, double y) { return x * y; });
}

bool DividesTooLarge(std::int64_t x, std::int64_t y) {
  return x == std::numeric_limits<std::int64_t>::min() && y == -1;
}

Value Divide(CallContext&, Arguments args) {
  const auto by_zero = [] { return Value::Error("division by zero"); };
  return Arithmetic(
      args[0], args[1],
      [&](std::int64_t x, std::int64_t y) {
        if (y == 0) return by_zero();
        return DividesTooLarge(x, y) ? Overflow() : Value::Int(x / y);
      },
      [&](std::uint64_t x, std::uint64_t y) { return y == 0 ? by_zero() : Value::Uint(x / y); },
      [](double x, double y) { return x / y; });
}

Value Modulo(CallContext&, Arguments args) {
  const auto by_zero = [] { return Value::Error("modulus by zero"); };
  return Arithmetic(
      args[0], args[1],
      [&](std::int64_t x, std::int64_t y) {
        if (y == 0) return by_zero();
        return DividesTooLarge(x, y) ? Overflow() : Value::Int(x % y);
      },
      [&](std::uint64_t x, std::uint64_t y) { return y == 0 ? by_zero() : Value::Uint(x % y); },
      [](double x, double) { return x; });
}

Value Negate(CallContext&, Arguments args) {
  const Value& value = args[0];
  switch (value.kind()) {
    case K::kDouble:
      return Value::Double(-value.as_double());
    case K::kInt:
    case K::kDuration:
      if (value.as_int() == std::numeric_limits<std::int64_t>::min()) return Overflow();
      return value.kind() == K::kInt ? Value::Int(-value.as_int()) : Value::Duration(-value.as_int());
    default:
      return WrongOperand(value);
  }
}

// ---- logic and comparison

Value Not(CallContext&, Arguments args) {
  return args[0].kind() == K::kBool ? Value::Bool(!args[0].as_bool()) : WrongOperand(args[0]);
}

Value NotStrictlyFalse(CallContext&, Arguments args) {
  return args[0].kind() == K::kBool ? args[0] : Value::Bool(true);
}

template <bool less, bool equal, bool greater>
Value Compares(CallContext& context, Arguments args) {
  if (args[0].kind() == K::kString && !context.budget.Spend(args[0].text().size() / 16)) return {};
  Value order = Compare(args[0], args[1]);
  if (order.IsError()) return order;
  const std::int64_t sign = order.as_int();
  return Value::Bool(sign < 0 ? less : sign == 0 ? equal : greater);
}

// Operators with their own evaluation are never called.
Value Special(CallContext&, Arguments) { return Value::NoSuchOverload(); }

Value In(CallContext& context, Arguments args) {
  const Value& container = args[1];
  if (container.kind() == K::kList) return Value::Bool(ListContains(container, args[0], context.budget));
  if (container.kind() == K::kMap) return Value::Bool(container.map().Find(args[0]) != nullptr);
  return WrongOperand(container);
}

Value Size(CallContext&, Arguments args) {
  return Value::Int(static_cast<std::int64_t>(SizeForCost(args[0])));
}

// ---- conversions

Value Identity(CallContext&, Arguments args) { return args[0]; }
Value ToType(CallContext&, Arguments args) { return Value::Type(RuntimeType(args[0])); }

Value WrongText(const TypePtr& type) {
  return Value::Error("type conversion error from 'string' to '" + TypeText(*type) + "'");
}

Value StringToBool(CallContext&, Arguments args) {
  const auto value = ParseGoBool(args[0].text());
  return value ? Value::Bool(*value) : WrongText(BoolType());
}

Value StringToBytes(CallContext& context, Arguments args) {
  return context.budget.Spend(args[0].text().size()) ? Value::Bytes(args[0].text()) : Value();
}

Value ToDouble(CallContext&, Arguments args) {
  switch (args[0].kind()) {
    case K::kInt:
      return Value::Double(static_cast<double>(args[0].as_int()));
    case K::kUint:
      return Value::Double(static_cast<double>(args[0].as_uint()));
    default: {
      const auto value = ParseDouble(args[0].text());
      return value ? Value::Double(*value) : WrongText(DoubleType());
    }
  }
}

Value ToInt(CallContext&, Arguments args) {
  const Value& value = args[0];
  switch (value.kind()) {
    case K::kDouble: {
      const auto integer = TruncateToInt(value.as_double());
      return integer ? Value::Int(*integer) : Overflow();
    }
    case K::kDuration:
      return Value::Int(value.as_int());
    case K::kTimestamp:
      return Value::Int(value.timestamp().seconds);
    case K::kUint:
      return value.as_int() < 0 ? Overflow() : Value::Int(value.as_int());
    default: {
      const auto integer = ParseInt(value.text());
      return integer ? Value::Int(*integer) : WrongText(IntType());
    }
  }
}

Value ToUint(CallContext&, Arguments args) {
  const Value& value = args[0];
  switch (value.kind()) {
    case K::kDouble: {
      const auto integer = TruncateToUint(value.as_double());
      return integer ? Value::Uint(*integer) : Overflow(true);
    }
    case K::kInt:
      return value.as_int() < 0 ? Overflow(true) : Value::Uint(value.as_uint());
    default: {
      const auto integer = ParseUint(value.text());
      return integer ? Value::Uint(*integer) : WrongText(UintType());
    }
  }
}

Value ToString(CallContext& context, Arguments args) {
  const Value& value = args[0];
  switch (value.kind()) {
    case K::kBool:
      return Value::String(value.as_bool() ? "true" : "false");
    case K::kBytes:
      if (!IsUtf8(value.text())) return Value::Error("invalid UTF-8 in bytes, cannot convert to string");
      return context.budget.Spend(value.text().size()) ? Value::String(value.text()) : Value();
    case K::kDouble:
      return Value::String(FormatGoDouble(value.as_double()));
    case K::kDuration:
      return Value::String(DurationSeconds(value.as_int()));
    case K::kInt:
      return Value::String(std::to_string(value.as_int()));
    case K::kUint:
      return Value::String(std::to_string(value.as_uint()));
    default:
      return Value::String(FormatTimestamp(value.timestamp()));
  }
}

Value ToDuration(CallContext&, Arguments args) {
  const auto duration = ParseDuration(args[0].text());
  return duration ? Value::Duration(*duration) : WrongText(DurationType());
}

Value StringToTimestamp(CallContext&, Arguments args) {
  Value timestamp = ParseTimestamp(args[0].text());
  return timestamp.IsAbsent() ? WrongText(TimestampType()) : timestamp;
}

Value IntToTimestamp(CallContext&, Arguments args) {
  const std::int64_t seconds = args[0].as_int();
  if (seconds < kMinTimestamp || seconds > kMaxTimestamp) return Value::Error("timestamp overflow");
  return Value::Timestamp(seconds, 0);
}

// ---- strings

// These functions are called with arguments of any type.
Value RequireStrings(Arguments args) {
  for (const Value& arg : args) {
    if (arg.kind() != K::kString) return WrongOperand(arg);
  }
  return {};
}

Value Contains(CallContext& context, Arguments args) {
  Value wrong = RequireStrings(args);
  if (!wrong.IsAbsent()) return wrong;
  // Quadratic at worst.
  if (!context.budget.Spend(args[0].text().size() / 16 * (1 + args[1].text().size() / 16))) return {};
  return Value::Bool(args[0].text().find(args[1].text()) != std::string::npos);
}

Value StartsWith(CallContext&, Arguments args) {
  Value wrong = RequireStrings(args);
  return wrong.IsAbsent() ? Value::Bool(args[0].text().starts_with(args[1].text())) : wrong;
}

Value EndsWith(CallContext&, Arguments args) {
  Value wrong = RequireStrings(args);
  return wrong.IsAbsent() ? Value::Bool(args[0].text().ends_with(args[1].text())) : wrong;
}

Value MatchesPattern(CallContext& context, Arguments args) {
  if (args[1].kind() != K::kString) return WrongOperand(args[1]);
  std::string error;
  const auto pattern = CompilePattern(args[1].text(), error, context.budget);
  return pattern == nullptr ? Value::Error(std::move(error))
                            : MatchPattern(*pattern, args[0].text(), context.budget);
}

// ---- declarations

struct Declarations {
  FunctionRegistry& registry;
  const TypePtr a = TypeParameter("A");
  const TypePtr b = TypeParameter("B");
  const TypePtr list = ListOf(a);
  const TypePtr map = MapOf(a, b);

  // An overload without an implementation of its own.
  void Global(std::string_view function, std::string id, std::vector<TypePtr> args, TypePtr result) const {
    registry.AddGlobal(function, std::move(id), std::move(args), std::move(result), nullptr);
  }
  void Member(std::string_view function, std::string id, std::vector<TypePtr> args, TypePtr result) const {
    registry.AddMember(function, std::move(id), std::move(args), std::move(result), nullptr);
  }

  void Logic() const {
    Global(operators::kConditional, "conditional", {BoolType(), a, a}, a);
    registry.SetSingleton(operators::kConditional, Special, CallForm::kVariadic);
    for (const auto& [name, id] :
         {std::pair(operators::kAnd, "logical_and"), std::pair(operators::kOr, "logical_or")}) {
      Global(name, id, {BoolType(), BoolType()}, BoolType());
      registry.SetSingleton(name, Special, CallForm::kBinary);
    }
    Global(operators::kNot, "logical_not", {BoolType()}, BoolType());
    registry.SetSingleton(operators::kNot, Not, CallForm::kUnary);
    Overload overload;
    overload.id = "not_strictly_false";
    overload.args = {BoolType()};
    overload.result = BoolType();
    overload.implementation = NotStrictlyFalse;
    overload.non_strict = true;
    registry.Add(operators::kNotStrictlyFalse, overload);
    Global(operators::kEquals, "equals", {a, a}, BoolType());
    registry.SetSingleton(operators::kEquals, Special, CallForm::kBinary);
    Global(operators::kNotEquals, "not_equals", {a, a}, BoolType());
    registry.SetSingleton(operators::kNotEquals, Special, CallForm::kBinary);
  }

  void Numbers(std::string_view name, const std::string& id, bool doubles = true) const {
    if (doubles) Global(name, id + "_double", {DoubleType(), DoubleType()}, DoubleType());
    Global(name, id + "_int64", {IntType(), IntType()}, IntType());
    Global(name, id + "_uint64", {UintType(), UintType()}, UintType());
  }

  void ArithmeticOperators() const {
    const TypePtr& duration = DurationType();
    const TypePtr& timestamp = TimestampType();
    const std::string_view add = operators::kAdd;
    Global(add, "add_bytes", {BytesType(), BytesType()}, BytesType());
    Global(add, "add_double", {DoubleType(), DoubleType()}, DoubleType());
    Global(add, "add_duration_duration", {duration, duration}, duration);
    Global(add, "add_duration_timestamp", {duration, timestamp}, timestamp);
    Global(add, "add_timestamp_duration", {timestamp, duration}, timestamp);
    Global(add, "add_int64", {IntType(), IntType()}, IntType());
    Global(add, "add_list", {list, list}, list);
    Global(add, "add_string", {StringType(), StringType()}, StringType());
    Global(add, "add_uint64", {UintType(), UintType()}, UintType());
    registry.SetSingleton(add, Add, CallForm::kBinary, Trait::kAdder);
    Numbers("_/_", "divide");
    registry.SetSingleton("_/_", Divide, CallForm::kBinary, Trait::kDivider);
    Numbers("_%_", "modulo", false);
    registry.SetSingleton("_%_", Modulo, CallForm::kBinary, Trait::kModder);
    Numbers("_*_", "multiply");
    registry.SetSingleton("_*_", Multiply, CallForm::kBinary, Trait::kMultiplier);
    Global(operators::kNegate, "negate_double", {DoubleType()}, DoubleType());
    Global(operators::kNegate, "negate_int64", {IntType()}, IntType());
    registry.SetSingleton(operators::kNegate, Negate, CallForm::kUnary, Trait::kNegator);
    Global("_-_", "subtract_double", {DoubleType(), DoubleType()}, DoubleType());
    Global("_-_", "subtract_duration_duration", {duration, duration}, duration);
    Global("_-_", "subtract_int64", {IntType(), IntType()}, IntType());
    Global("_-_", "subtract_timestamp_duration", {timestamp, duration}, timestamp);
    Global("_-_", "subtract_timestamp_timestamp", {timestamp, timestamp}, duration);
    Global("_-_", "subtract_uint64", {UintType(), UintType()}, UintType());
    registry.SetSingleton("_-_", Subtract, CallForm::kBinary, Trait::kSubtractor);
  }

  void Comparison(std::string_view name, const std::string& id, Implementation implementation) const {
    const std::array<std::pair<const char*, TypePtr>, 3> numbers = {
        std::pair("int64", IntType()), std::pair("uint64", UintType()), std::pair("double", DoubleType())};
    Global(name, id + "_bool", {BoolType(), BoolType()}, BoolType());
    for (const auto& [left, left_type] : numbers) {
      Global(name, id + "_" + left, {left_type, left_type}, BoolType());
      for (const auto& [right, right_type] : numbers) {
        if (left_type != right_type)
          Global(name, id + "_" + left + "_" + right, {left_type, right_type}, BoolType());
      }
    }
    Global(name, id + "_string", {StringType(), StringType()}, BoolType());
    Global(name, id + "_bytes", {BytesType(), BytesType()}, BoolType());
    Global(name, id + "_timestamp", {TimestampType(), TimestampType()}, BoolType());
    Global(name, id + "_duration", {DurationType(), DurationType()}, BoolType());
    registry.SetSingleton(name, implementation, CallForm::kBinary, Trait::kComparer);
  }

  void Containers() const {
    Global(operators::kIndex, "index_list", {list, IntType()}, a);
    Global(operators::kIndex, "index_map", {map, a}, b);
    Global(operators::kIn, "in_list", {a, list}, BoolType());
    Global(operators::kIn, "in_map", {a, map}, BoolType());
    registry.SetSingleton(operators::kIn, In, CallForm::kBinary);
    const std::array<std::pair<std::string, TypePtr>, 4> sized = {
        std::pair("bytes", BytesType()), std::pair("list", list), std::pair("map", map),
        std::pair("string", StringType())};
    for (const auto& [name, type] : sized) {
      Global("size", "size_" + name, {type}, IntType());
      Member("size", name + "_size", {type}, IntType());
    }
    registry.SetSingleton("size", Size, CallForm::kUnary, Trait::kSizer);
  }

  void Conversion(const TypePtr& to, std::string_view function, const TypePtr& from, std::string id,
                  Implementation implementation) const {
    registry.AddGlobal(function, std::move(id), {from}, to, implementation);
  }

  void Conversions() const {
    Global("type", "type", {a}, TypeOf(a));
    registry.SetSingleton("type", ToType, CallForm::kUnary);
    Global("dyn", "to_dyn", {a}, DynType());
    registry.SetSingleton("dyn", Identity, CallForm::kUnary);
    Conversion(BoolType(), "bool", BoolType(), "bool_to_bool", Identity);
    Conversion(BoolType(), "bool", StringType(), "string_to_bool", StringToBool);
    Conversion(BytesType(), "bytes", BytesType(), "bytes_to_bytes", Identity);
    Conversion(BytesType(), "bytes", StringType(), "string_to_bytes", StringToBytes);
    Conversion(DoubleType(), "double", DoubleType(), "double_to_double", Identity);
    Conversion(DoubleType(), "double", IntType(), "int64_to_double", ToDouble);
    Conversion(DoubleType(), "double", StringType(), "string_to_double", ToDouble);
    Conversion(DoubleType(), "double", UintType(), "uint64_to_double", ToDouble);
    Conversion(DurationType(), "duration", DurationType(), "duration_to_duration", Identity);
    Conversion(DurationType(), "duration", StringType(), "string_to_duration", ToDuration);
    Conversion(IntType(), "int", IntType(), "int64_to_int64", Identity);
    Conversion(IntType(), "int", DoubleType(), "double_to_int64", ToInt);
    Conversion(IntType(), "int", DurationType(), "duration_to_int64", ToInt);
    Conversion(IntType(), "int", StringType(), "string_to_int64", ToInt);
    Conversion(IntType(), "int", TimestampType(), "timestamp_to_int64", ToInt);
    Conversion(IntType(), "int", UintType(), "uint64_to_int64", ToInt);
    Conversion(StringType(), "string", StringType(), "string_to_string", Identity);
    Conversion(StringType(), "string", BoolType(), "bool_to_string", ToString);
    Conversion(StringType(), "string", BytesType(), "bytes_to_string", ToString);
    Conversion(StringType(), "string", DoubleType(), "double_to_string", ToString);
    Conversion(StringType(), "string", DurationType(), "duration_to_string", ToString);
    Conversion(StringType(), "string", IntType(), "int64_to_string", ToString);
    Conversion(StringType(), "string", TimestampType(), "timestamp_to_string", ToString);
    Conversion(StringType(), "string", UintType(), "uint64_to_string", ToString);
    Conversion(TimestampType(), "timestamp", TimestampType(), "timestamp_to_timestamp", Identity);
    Conversion(TimestampType(), "timestamp", IntType(), "int64_to_timestamp", IntToTimestamp);
    Conversion(TimestampType(), "timestamp", StringType(), "string_to_timestamp", StringToTimestamp);
    Conversion(UintType(), "uint", UintType(), "uint64_to_uint64", Identity);
    Conversion(UintType(), "uint", DoubleType(), "double_to_uint64", ToUint);
    Conversion(UintType(), "uint", IntType(), "int64_to_uint64", ToUint);
    Conversion(UintType(), "uint", StringType(), "string_to_uint64", ToUint);
  }

  void Strings() const {
    const std::vector<TypePtr> two = {StringType(), StringType()};
    registry.AddMember("contains", "contains_string", two, BoolType(), Contains);
    registry.AddMember("endsWith", "ends_with_string", two, BoolType(), EndsWith);
    registry.AddMember("startsWith", "starts_with_string", two, BoolType(), StartsWith);
    for (const char* name : {"contains", "endsWith", "startsWith"}) registry.DisableTypeGuards(name);
    Global("matches", "matches", two, BoolType());
    Member("matches", "matches_string", two, BoolType());
    registry.SetSingleton("matches", MatchesPattern, CallForm::kBinary, Trait::kMatcher);
  }
};

}  // namespace

void AddStandardLibrary(FunctionRegistry& registry) {
  const Declarations declarations{registry};
  declarations.Logic();
  declarations.ArithmeticOperators();
  declarations.Comparison("_<_", "less", Compares<true, false, false>);
  declarations.Comparison("_<=_", "less_equals", Compares<true, true, false>);
  declarations.Comparison("_>_", "greater", Compares<false, false, true>);
  declarations.Comparison("_>=_", "greater_equals", Compares<false, true, true>);
  declarations.Containers();
  declarations.Conversions();
  declarations.Strings();
}

}  // namespace berth::cel
