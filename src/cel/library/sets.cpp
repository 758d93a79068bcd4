// Lists as sets (cel-go's ext.Sets).
#include "cel/functions.hpp"

namespace berth::cel {
namespace {

bool ContainsAll(const Value& list, const Value& elements, Budget& budget) {
  for (std::int64_t i = 0; i < elements.list().size; ++i) {
    if (!ListContains(list, elements.list().At(i), budget)) return false;
  }
  return true;
}

Value SetContains(CallContext& context, Arguments args) {
  return Value::Bool(ContainsAll(args[0], args[1], context.budget));
}

Value SetEquivalent(CallContext& context, Arguments args) {
  return Value::Bool(ContainsAll(args[0], args[1], context.budget) &&
                     ContainsAll(args[1], args[0], context.budget));
}

Value SetIntersects(CallContext& context, Arguments args) {
  for (std::int64_t i = 0; i < args[0].list().size; ++i) {
    if (ListContains(args[1], args[0].list().At(i), context.budget)) return Value::Bool(true);
    if (context.budget.exhausted()) break;
  }
  return Value::Bool(false);
}

}  // namespace

void AddSetsLibrary(FunctionRegistry& registry) {
  const TypePtr list = ListOf(TypeParameter("T"));
  registry.AddGlobal("sets.contains", "list_sets_contains_list", {list, list}, BoolType(), SetContains);
  registry.AddGlobal("sets.equivalent", "list_sets_equivalent_list", {list, list}, BoolType(), SetEquivalent);
  registry.AddGlobal("sets.intersects", "list_sets_intersects_list", {list, list}, BoolType(), SetIntersects);
}

}  // namespace berth::cel
