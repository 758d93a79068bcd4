// Optional types and comprehensions with two variables.
#include "cel/functions.hpp"
#include "cel/parser.hpp"

namespace berth::cel {
namespace {

Value OptionalOfValue(CallContext&, Arguments args) { return Value::Optional(args[0]); }

bool IsZero(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return true;
    case ValueKind::kBool:
      return !value.as_bool();
    case ValueKind::kInt:
    case ValueKind::kUint:
    case ValueKind::kDuration:
      return value.as_uint() == 0;
    case ValueKind::kDouble:
      return value.as_double() == 0;
    case ValueKind::kString:
    case ValueKind::kBytes:
      return value.text().empty();
    case ValueKind::kTimestamp:  // the year 1
      return value.timestamp().seconds == -62135596800 && value.timestamp().nanoseconds == 0;
    case ValueKind::kList:
      return value.list().size == 0;
    case ValueKind::kMap:
      return value.map().entries.empty();
    default:
      return false;
  }
}

Value OptionalOfNonZero(CallContext&, Arguments args) {
  return IsZero(args[0]) ? Value::NoOptional() : Value::Optional(args[0]);
}

Value None(CallContext&, Arguments) { return Value::NoOptional(); }

Value Unwrapped(CallContext&, Arguments args) {
  const Value& value = args[0].optional();
  return value.IsAbsent() ? Value::Error("optional.none() dereference") : value;
}

Value HasValue(CallContext&, Arguments args) { return Value::Bool(!args[0].optional().IsAbsent()); }

Value First(CallContext&, Arguments args) {
  const ListObject& list = args[0].list();
  return list.size == 0 ? Value::NoOptional() : Value::Optional(list.At(0));
}

Value Last(CallContext&, Arguments args) {
  const ListObject& list = args[0].list();
  return list.size == 0 ? Value::NoOptional() : Value::Optional(list.At(list.size - 1));
}

Value UnwrapAll(CallContext& context, Arguments args) {
  std::vector<Value> values;
  const ListObject& list = args[0].list();
  for (std::int64_t i = 0; i < list.size; ++i) {
    if (!context.budget.Spend(1)) return {};
    const Value& element = list.At(i);
    if (element.kind() != ValueKind::kOptional) {
      return Value::Error("value " + GoText(element, context.budget) + " is not optional");
    }
    if (!element.optional().IsAbsent()) values.push_back(element.optional());
  }
  return Value::List(std::move(values));
}

// ---- maps under construction

Value Insert(CallContext& context, const Value& map, const Value& key, const Value& value) {
  if (map.map().Find(key) != nullptr) {
    return Value::Error("insert failed: key " + GoText(key, context.budget) + " already exists");
  }
  const int depth = std::max(DepthOf(key), DepthOf(value));
  if (depth >= kMaxValueDepth) return Value::Error("values are nested too deeply");
  Value target = map;
  if (!map.map().accumulator) {
    if (!context.budget.Spend(map.map().entries.size())) return {};
    target = Value::Map(map.map().entries);
  }
  MapObject& entries = target.mutable_map();
  entries.depth = std::max(entries.depth, depth + 1);
  entries.Set(key, value);
  return target;
}

Value InsertEntry(CallContext& context, Arguments args) { return Insert(context, args[0], args[1], args[2]); }

Value InsertAll(CallContext& context, Arguments args) {
  Value map = args[0];
  for (const auto& [key, value] : args[1].map().entries) {
    if (!context.budget.Spend(1)) return {};
    map = Insert(context, map, key, value);
    if (map.IsError()) return map;
  }
  return map;
}

}  // namespace

void AddOptionalLibrary(FunctionRegistry& registry) {
  const TypePtr k = TypeParameter("K");
  const TypePtr v = TypeParameter("V");
  const TypePtr optional = OptionalOf(v);
  const TypePtr list = ListOf(v);
  const TypePtr map = MapOf(k, v);
  registry.AddGlobal("optional.of", "optional_of", {v}, optional, OptionalOfValue);
  registry.AddGlobal("optional.ofNonZeroValue", "optional_ofNonZeroValue", {v}, optional, OptionalOfNonZero);
  registry.AddGlobal("optional.none", "optional_none", {}, optional, None);
  registry.AddMember("value", "optional_value", {optional}, v, Unwrapped);
  registry.AddMember("hasValue", "optional_hasValue", {optional}, BoolType(), HasValue);
  registry.AddMember("or", "optional_or_optional", {optional, optional}, optional, nullptr);
  registry.AddMember("orValue", "optional_orValue_value", {optional, v}, v, nullptr);
  registry.AddGlobal(operators::kOptionalSelect, "select_optional_field", {DynType(), StringType()}, optional,
                     nullptr);
  const std::string_view index = operators::kOptionalIndex;
  registry.AddGlobal(index, "list_optindex_optional_int", {list, IntType()}, optional, nullptr);
  registry.AddGlobal(index, "optional_list_optindex_optional_int", {OptionalOf(list), IntType()}, optional,
                     nullptr);
  registry.AddGlobal(index, "map_optindex_optional_value", {map, k}, optional, nullptr);
  registry.AddGlobal(index, "optional_map_optindex_optional_value", {OptionalOf(map), k}, optional, nullptr);
  registry.AddGlobal(operators::kIndex, "optional_list_index_int", {OptionalOf(list), IntType()}, optional,
                     nullptr);
  registry.AddGlobal(operators::kIndex, "optional_map_index_value", {OptionalOf(map), k}, optional, nullptr);
  registry.AddMember("last", "list_last", {list}, optional, Last);
  registry.AddMember("first", "list_first", {list}, optional, First);
  registry.AddGlobal("optional.unwrap", "optional_unwrap", {ListOf(optional)}, list, UnwrapAll);
  registry.AddMember("unwrapOpt", "optional_unwrapOpt", {ListOf(optional)}, list, UnwrapAll);
}

void AddComprehensionsLibrary(FunctionRegistry& registry) {
  const TypePtr k = TypeParameter("K");
  const TypePtr v = TypeParameter("V");
  const TypePtr map = MapOf(k, v);
  registry.AddGlobal(kMapInsert, "@mapInsert_map_key_value", {map, k, v}, map, InsertEntry);
  registry.AddGlobal(kMapInsert, "@mapInsert_map_map", {map, map}, map, InsertAll);
}

}  // namespace berth::cel
