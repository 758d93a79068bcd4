// Functions on lists: cel-go's ext.Lists version 3 and Kubernetes' own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "cel/functions.hpp"

namespace berth::cel {
namespace {

struct ElementType {
  const char* name;  // as Kubernetes names it
  TypePtr type;
};

std::array<ElementType, 8> ComparableTypes() {
  return {ElementType{"int", IntType()},           ElementType{"uint", UintType()},
          ElementType{"double", DoubleType()},     ElementType{"bool", BoolType()},
          ElementType{"duration", DurationType()}, ElementType{"timestamp", TimestampType()},
          ElementType{"string", StringType()},     ElementType{"bytes", BytesType()}};
}

// ---- ext.Lists

Value Slice(CallContext& context, Arguments args) {
  const ListObject& list = args[0].list();
  const std::int64_t start = args[1].as_int();
  const std::int64_t end = args[2].as_int();
  const auto fail = [&](const std::string& why) {
    return Value::Error(fmt::format("cannot slice({}, {}), {}", start, end, why));
  };
  if (start < 0 || end < 0) return fail("negative indexes not supported");
  if (start > end) return fail("start index must be less than or equal to end index");
  if (list.size < end) return fail(fmt::format("list is length {}", list.size));
  if (!context.budget.Spend(static_cast<std::uint64_t>(end - start))) return {};
  std::vector<Value> elements;
  elements.reserve(static_cast<std::size_t>(end - start));
  for (std::int64_t i = start; i < end; ++i) elements.push_back(list.At(i));
  return Value::List(std::move(elements));
}

void FlattenInto(const ListObject& list, std::int64_t depth, std::vector<Value>& elements, Budget& budget) {
  for (std::int64_t i = 0; i < list.size; ++i) {
    if (!budget.Spend(1)) return;
    const Value& element = list.At(i);
    if (element.kind() == ValueKind::kList && depth > 0)
      FlattenInto(element.list(), depth - 1, elements, budget);
    else
      elements.push_back(element);
  }
}

// Called with arguments of any type.
Value Flatten(CallContext& context, Arguments args) {
  const Value& list = args[0];
  if (list.kind() != ValueKind::kList || (args.size() == 2 && args[1].kind() != ValueKind::kInt)) {
    if (list.IsError()) return list;
    const std::string depth = args.size() == 2 ? TypeText(*RuntimeType(args[1])) : std::string();
    return Value::Error("no such overload: " + TypeText(*RuntimeType(list)) + ".flatten(" + depth + ")");
  }
  const std::int64_t depth = args.size() == 2 ? args[1].as_int() : 1;
  if (depth < 0) return Value::Error("level must be non-negative");
  std::vector<Value> elements;
  FlattenInto(list.list(), depth, elements, context.budget);
  return Value::List(std::move(elements));
}

Value SortByKeys(const Value& list_value, const Value& keys_value, Budget& budget) {
  const ListObject& list = list_value.list();
  const ListObject& keys = keys_value.list();
  if (list.size != keys.size) {
    return Value::Error(
        fmt::format("@sortByAssociatedKeys() expected a list of the same size as the associated keys "
                    "list, but got {} and {} elements respectively",
                    list.size, keys.size));
  }
  if (list.size == 0) return list_value;
  const Value& first = keys.At(0);
  if (!IsComparable(first)) return Value::Error("list elements must be comparable");
  const auto count = static_cast<std::uint64_t>(list.size);
  if (!budget.Spend(count * static_cast<std::uint64_t>(std::bit_width(count)))) return {};
  std::vector<std::pair<Value, Value>> pairs;
  for (std::int64_t i = 0; i < list.size; ++i) {
    pairs.emplace_back(keys.At(i), list.At(i));
    if (keys.At(i).kind() != first.kind() && list.size > 1) {
      return Value::Error("list elements must have the same type");
    }
  }
  // NaN compares like nothing: cel-go's order of such lists is arbitrary, too.
  std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
    const Value order = Compare(a.first, b.first);
    return order.kind() == ValueKind::kInt && order.as_int() < 0;
  });
  std::vector<Value> sorted;
  sorted.reserve(pairs.size());
  for (auto& [key, element] : pairs) sorted.push_back(std::move(element));
  return Value::List(std::move(sorted));
}

Value Sort(CallContext& context, Arguments args) { return SortByKeys(args[0], args[0], context.budget); }

Value SortByAssociatedKeys(CallContext& context, Arguments args) {
  if (args[1].kind() != ValueKind::kList) return Value::NoSuchOverload();
  return SortByKeys(args[0], args[1], context.budget);
}

Value Range(CallContext& context, Arguments args) {
  const std::int64_t count = args[0].as_int();
  if (count < 0) return Value::Error(fmt::format("lists.range: size must be non-negative, got {}", count));
  constexpr std::int64_t kMost = 1'000'000;
  if (count > kMost) {
    return Value::Error(fmt::format("lists.range: size {} exceeds maximum allowed ({})", count, kMost));
  }
  if (!context.budget.Spend(static_cast<std::uint64_t>(count))) return {};
  std::vector<Value> elements;
  elements.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) elements.push_back(Value::Int(i));
  return Value::List(std::move(elements));
}

Value Reverse(CallContext& context, Arguments args) {
  const ListObject& list = args[0].list();
  if (!context.budget.Spend(static_cast<std::uint64_t>(list.size))) return {};
  std::vector<Value> elements;
  elements.reserve(static_cast<std::size_t>(list.size));
  for (std::int64_t i = list.size; i > 0; --i) elements.push_back(list.At(i - 1));
  return Value::List(std::move(elements));
}

Value Distinct(CallContext& context, Arguments args) {
  const ListObject& list = args[0].list();
  if (list.size == 0) return args[0];
  std::vector<Value> unique;
  for (std::int64_t i = 0; i < list.size; ++i) {
    const Value& element = list.At(i);
    const bool seen = std::any_of(unique.begin(), unique.end(), [&](const Value& other) {
      return context.budget.Spend(1) && ElementEquals(element, other, context.budget).IsTrue();
    });
    if (context.budget.exhausted()) return {};
    if (!seen) unique.push_back(element);
  }
  return Value::List(std::move(unique));
}

// ---- Kubernetes

Value WrongElement(const Value& value) { return value.IsError() ? value : Value::NoSuchOverload(); }

Value IsSorted(CallContext& context, Arguments args) {
  const ListObject& list = args[0].list();
  for (std::int64_t i = 0; i < list.size; ++i) {
    if (!context.budget.Spend(1)) return {};
    const Value& element = list.At(i);
    if (!IsComparable(element)) return WrongElement(element);
    if (i == 0) continue;
    const Value order = Compare(list.At(i - 1), element);
    if (order.kind() == ValueKind::kInt && order.as_int() > 0) return Value::Bool(false);
  }
  return Value::Bool(true);
}

template <int wanted>
Value Extreme(CallContext& context, Arguments args) {
  const ListObject& list = args[0].list();
  Value best;
  for (std::int64_t i = 0; i < list.size; ++i) {
    if (!context.budget.Spend(1)) return {};
    const Value& element = list.At(i);
    if (!IsComparable(element)) return WrongElement(element);
    const Value order = best.IsAbsent() ? Value::Int(-wanted) : Compare(best, element);
    if (best.IsAbsent() || (order.kind() == ValueKind::kInt && order.as_int() == -wanted)) best = element;
  }
  if (best.IsAbsent())
    return Value::Error(wanted > 0 ? "max called on empty list" : "min called on empty list");
  return best;
}

// The sum with the operator +.
template <ValueKind kind>
Value Sum(CallContext& context, Arguments args) {
  const ListObject& list = args[0].list();
  const auto wrong = [](const Value& sum) { return sum.IsError() ? sum : Value::NoSuchOverload(); };
  std::int64_t whole = 0;
  std::uint64_t natural = 0;
  double real = 0;
  for (std::int64_t i = 0; i < list.size; ++i) {
    if (!context.budget.Spend(1)) return {};
    const Value& element = list.At(i);
    if (element.kind() != kind) return wrong(element);
    switch (kind) {
      case ValueKind::kUint:
        if (__builtin_add_overflow(natural, element.as_uint(), &natural)) {
          return Value::Error("unsigned integer overflow");
        }
        break;
      case ValueKind::kDouble:
        real += element.as_double();
        break;
      default:
        if (__builtin_add_overflow(whole, element.as_int(), &whole)) return Value::Error("integer overflow");
    }
  }
  if constexpr (kind == ValueKind::kInt) return Value::Int(whole);
  if constexpr (kind == ValueKind::kUint) return Value::Uint(natural);
  if constexpr (kind == ValueKind::kDouble) return Value::Double(real);
  return Value::Duration(whole);
}

Value IndexOf(CallContext& context, Arguments args) {
  const ListObject& list = args[0].list();
  for (std::int64_t i = 0; i < list.size; ++i) {
    if (!context.budget.Spend(1)) return {};
    if (ElementEquals(list.At(i), args[1], context.budget).IsTrue()) return Value::Int(i);
  }
  return Value::Int(-1);
}

Value LastIndexOf(CallContext& context, Arguments args) {
  const ListObject& list = args[0].list();
  for (std::int64_t i = list.size; i > 0; --i) {
    if (!context.budget.Spend(1)) return {};
    if (ElementEquals(list.At(i - 1), args[1], context.budget).IsTrue()) return Value::Int(i - 1);
  }
  return Value::Int(-1);
}

Value Includes(CallContext& context, Arguments args) {
  if (args[0].kind() != ValueKind::kList) {
    return Value::Bool(ElementEquals(args[0], args[1], context.budget).IsTrue());
  }
  return Value::Bool(IndexOf(context, args).as_int() >= 0);
}

}  // namespace

void AddListsLibrary(FunctionRegistry& registry) {
  const TypePtr t = TypeParameter("T");
  const TypePtr list = ListOf(t);
  registry.AddMember("slice", "list_slice", {list, IntType(), IntType()}, list, Slice);
  registry.AddMember("flatten", "list_flatten", {ListOf(list)}, list, Flatten);
  registry.AddMember("flatten", "list_flatten_int", {DynListType(), IntType()}, DynListType(), Flatten);
  registry.DisableTypeGuards("flatten");
  for (const auto& [name, type] : ComparableTypes()) {
    registry.AddMember("sort", "list_" + type->name + "_sort", {ListOf(type)}, ListOf(type), nullptr);
    registry.AddMember("@sortByAssociatedKeys", "list_" + type->name + "_sortByAssociatedKeys",
                       {list, ListOf(type)}, list, nullptr);
  }
  registry.SetSingleton("sort", Sort, CallForm::kUnary, Trait::kLister);
  registry.SetSingleton("@sortByAssociatedKeys", SortByAssociatedKeys, CallForm::kBinary, Trait::kLister);
  registry.AddGlobal("lists.range", "lists_range", {IntType()}, ListOf(IntType()), Range);
  registry.AddMember("reverse", "list_reverse", {list}, list, Reverse);
  registry.AddMember("distinct", "list_distinct", {list}, list, Distinct);
}

void AddKubernetesLists(FunctionRegistry& registry) {
  for (const auto& [name, type] : ComparableTypes()) {
    const std::string prefix = std::string("list_") + name;
    registry.AddMember("isSorted", prefix + "_is_sorted_bool", {ListOf(type)}, BoolType(), IsSorted);
    registry.AddMember("max", prefix + "_max_" + name, {ListOf(type)}, type, Extreme<1>);
    registry.AddMember("min", prefix + "_min_" + name, {ListOf(type)}, type, Extreme<-1>);
  }
  registry.AddMember("sum", "list_int_sum_int", {ListOf(IntType())}, IntType(), Sum<ValueKind::kInt>);
  registry.AddMember("sum", "list_uint_sum_uint", {ListOf(UintType())}, UintType(), Sum<ValueKind::kUint>);
  registry.AddMember("sum", "list_double_sum_double", {ListOf(DoubleType())}, DoubleType(),
                     Sum<ValueKind::kDouble>);
  registry.AddMember("sum", "list_duration_sum_duration", {ListOf(DurationType())}, DurationType(),
                     Sum<ValueKind::kDuration>);
  const TypePtr a = TypeParameter("A");
  registry.AddMember("indexOf", "list_a_index_of_int", {ListOf(a), a}, IntType(), IndexOf);
  registry.AddMember("lastIndexOf", "list_a_last_index_of_int", {ListOf(a), a}, IntType(), LastIndexOf);
  registry.AddMember("includes", "list_includes_dyn_dyn", {DynType(), DynType()}, BoolType(), Includes);
}

}  // namespace berth::cel
