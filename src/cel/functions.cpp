#include "cel/functions.hpp"

#include "base/check.hpp"

namespace berth::cel {

bool HasTrait(const Value& value, Trait trait) {
  using K = ValueKind;
  const K kind = value.kind();
  const bool number = kind == K::kInt || kind == K::kUint || kind == K::kDouble;
  const bool sequence = kind == K::kString || kind == K::kBytes;
  const bool time = kind == K::kDuration || kind == K::kTimestamp;
  switch (trait) {
    case Trait::kNone:
      return true;
    case Trait::kAdder:
      return number || sequence || time || kind == K::kList;
    case Trait::kComparer:
      return IsComparable(value);
    case Trait::kDivider:
    case Trait::kMultiplier:
      return number;
    case Trait::kModder:
      return kind == K::kInt || kind == K::kUint;
    case Trait::kNegator:
      return kind == K::kBool || kind == K::kInt || kind == K::kDouble || kind == K::kDuration;
    case Trait::kSubtractor:
      return number || time;
    case Trait::kSizer:
      return sequence || kind == K::kList || kind == K::kMap;
    case Trait::kMatcher:
      return kind == K::kString;
    case Trait::kLister:
      return kind == K::kList;
  }
  return false;
}

Function& FunctionRegistry::Get(std::string_view name) {
  const auto at = functions_.lower_bound(name);
  if (at != functions_.end() && at->first == name) {
    // Copies of the registry and programs keep the function that they have.
    if (at->second.use_count() > 1) at->second = std::make_shared<Function>(*at->second);
    return *at->second;
  }
  const auto added = functions_.emplace_hint(at, name, std::make_shared<Function>());
  added->second->name = name;
  return *added->second;
}

void FunctionRegistry::Add(std::string_view name, Overload overload, bool variadic) {
  const std::size_t count = overload.args.size();
  overload.form = variadic || count == 0 || count > 2 ? CallForm::kVariadic
                  : count == 1                        ? CallForm::kUnary
                                                      : CallForm::kBinary;
  Function& function = Get(name);
  for (const Overload& other : function.overloads) BERTH_CHECK(other.id != overload.id, other.id);
  function.overloads.push_back(std::move(overload));
}

void FunctionRegistry::AddGlobal(std::string_view name, std::string id, std::vector<TypePtr> args,
                                 TypePtr result, Implementation implementation, bool variadic) {
  Overload overload;
  overload.id = std::move(id);
  overload.args = std::move(args);
  overload.result = std::move(result);
  overload.implementation = implementation;
  Add(name, std::move(overload), variadic);
}

void FunctionRegistry::AddMember(std::string_view name, std::string id, std::vector<TypePtr> args,
                                 TypePtr result, Implementation implementation, bool variadic) {
  Overload overload;
  overload.id = std::move(id);
  overload.member = true;
  overload.args = std::move(args);
  overload.result = std::move(result);
  overload.implementation = implementation;
  Add(name, std::move(overload), variadic);
}

void FunctionRegistry::SetSingleton(std::string_view name, Implementation implementation, CallForm form,
                                    Trait trait) {
  Function& function = Get(name);
  function.singleton = implementation;
  function.singleton_form = form;
  function.operand_trait = trait;
}

void FunctionRegistry::DisableTypeGuards(std::string_view name) { Get(name).type_guards = false; }

std::shared_ptr<const Function> FunctionRegistry::Share(std::string_view name) const {
  if (name.starts_with('.')) name.remove_prefix(1);
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : found->second;
}

}  // namespace berth::cel
