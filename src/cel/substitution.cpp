#include "cel/substitution.hpp"

#include <algorithm>

namespace berth::cel {
namespace {

// Nodes of a type that replacing type parameters may make, so that the memory is bounded, too.
constexpr std::uint64_t kMaxAppliedSize = 100'000;

bool EqualOrLessSpecific(const Type& a, const Type& b) {
  if (IsDyn(a) || a.kind == TypeKind::kTypeParameter) return true;
  if (IsDyn(b) || b.kind == TypeKind::kTypeParameter) return false;
  if (a.kind != b.kind) return false;
  const auto parameters = [&] {
    if (a.parameters.size() != b.parameters.size()) return false;
    for (std::size_t i = 0; i < a.parameters.size(); ++i) {
      if (!EqualOrLessSpecific(*a.parameters[i], *b.parameters[i])) return false;
    }
    return true;
  };
  switch (a.kind) {
    case TypeKind::kOpaque:
      return a.name == b.name && parameters();
    case TypeKind::kList:
    case TypeKind::kMap:
      return parameters();
    case TypeKind::kType:
      return true;
    default:
      return SameType(a, b);
  }
}

bool IsNullable(const Type& type) {
  switch (type.kind) {
    case TypeKind::kOpaque:
    case TypeKind::kStruct:
    case TypeKind::kAny:
    case TypeKind::kDuration:
    case TypeKind::kTimestamp:
    case TypeKind::kNull:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool IsDyn(const Type& type) { return type.kind == TypeKind::kDyn || type.kind == TypeKind::kAny; }
bool IsDynOrError(const Type& type) { return IsDyn(type) || type.kind == TypeKind::kError; }
bool IsOptional(const Type& type) { return type.kind == TypeKind::kOpaque && type.name == "optional_type"; }

TypePtr MostGeneral(const TypePtr& a, const TypePtr& b) { return EqualOrLessSpecific(*a, *b) ? a : b; }

bool Substitution::Assign(const TypePtr& to, const TypePtr& from) { return AssignAll({&to, 1}, {&from, 1}); }

bool Substitution::AssignAll(std::span<const TypePtr> to, std::span<const TypePtr> from) {
  undo_.clear();
  if (AllAssignable(to, from)) return true;
  Undo(0);
  return false;
}

bool Substitution::AllAssignable(std::span<const TypePtr> a, std::span<const TypePtr> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!Assignable(a[i], b[i])) return false;
  }
  return true;
}

bool Substitution::Assignable(const TypePtr& a, const TypePtr& b) {
  if (!Spend(1)) return false;
  if (b->kind == TypeKind::kTypeParameter) {
    bool bound = false;
    if (Substitutable(a, b, bound)) return true;
    if (bound) return false;
  }
  if (a->kind == TypeKind::kTypeParameter) {
    bool bound = false;
    return Substitutable(b, a, bound);
  }
  if (IsDynOrError(*a) || IsDynOrError(*b)) return true;
  if (a->kind == TypeKind::kNull) return IsNullable(*b);
  if (b->kind == TypeKind::kNull) return IsNullable(*a);
  switch (a->kind) {
    case TypeKind::kType:
      return b->kind == TypeKind::kType;
    case TypeKind::kOpaque:
    case TypeKind::kList:
    case TypeKind::kMap:
      return a->kind == b->kind && a->name == b->name && AllAssignable(a->parameters, b->parameters);
    default:
      return AssignableType(*b, *a);
  }
}

bool Substitution::Substitutable(const TypePtr& a, const TypePtr& b, bool& bound) {
  bound = true;
  if (!Spend(a->size)) return false;  // comparisons visit all nodes
  if (a->kind == b->kind && SameType(*a, *b)) return true;
  if (const TypePtr current = Find(b)) {
    if (a->kind == current->kind && SameType(*a, *current)) return true;
    if (!Assignable(a, current)) return false;
    const TypePtr general = MostGeneral(a, current);
    if (NotWithin(b, general)) Set(b->name, general);
    return true;
  }
  bound = false;
  if (!NotWithin(b, a)) return false;
  Set(b->name, a);
  return true;
}

bool Substitution::NotWithin(const TypePtr& type, const TypePtr& within) const {
  if (!Spend(1) || SameType(*type, *within)) return false;
  switch (within->kind) {
    case TypeKind::kTypeParameter: {
      const TypePtr current = Find(within);
      return current == nullptr || NotWithin(type, current);
    }
    case TypeKind::kOpaque:
    case TypeKind::kList:
    case TypeKind::kMap:
    case TypeKind::kType:
      return std::all_of(within->parameters.begin(), within->parameters.end(),
                         [&](const TypePtr& parameter) { return NotWithin(type, parameter); });
    default:
      return true;
  }
}

TypePtr Substitution::Apply(const TypePtr& type, bool unbound_to_dyn) const {
  if (!Spend(1)) return type;
  if (const TypePtr current = Find(type)) return Apply(current, unbound_to_dyn);
  switch (type->kind) {
    case TypeKind::kTypeParameter:
      return unbound_to_dyn ? DynType() : type;
    case TypeKind::kOpaque:
    case TypeKind::kList:
    case TypeKind::kMap:
    case TypeKind::kType:
      break;
    default:
      return type;
  }
  std::vector<TypePtr> parameters;
  bool changed = false;
  std::uint64_t size = 1;
  for (const TypePtr& parameter : type->parameters) {
    parameters.push_back(Apply(parameter, unbound_to_dyn));
    changed = changed || parameters.back() != parameter;
    size += parameters.back()->size;
  }
  if (!changed) return type;
  if (size > kMaxAppliedSize) {
    steps_left_ = 0;
    return type;
  }
  switch (type->kind) {
    case TypeKind::kList:
      return ListOf(parameters[0]);
    case TypeKind::kMap:
      return MapOf(parameters[0], parameters[1]);
    case TypeKind::kType:
      return berth::cel::TypeOf(parameters[0]);
    default:
      return OpaqueOf(type->name, std::move(parameters));
  }
}

TypePtr Substitution::Find(const TypePtr& type) const {
  if (type->kind != TypeKind::kTypeParameter) return nullptr;
  const auto found = bound_.find(type->name);
  return found == bound_.end() ? nullptr : found->second;
}

void Substitution::Set(const std::string& parameter, TypePtr type) {
  TypePtr& current = bound_[parameter];
  undo_.emplace_back(parameter, current);
  current = std::move(type);
}

bool Substitution::Spend(std::uint64_t steps) const {
  steps_left_ -= std::min(steps, steps_left_);
  return steps_left_ > 0;
}

void Substitution::Undo(std::size_t to) {
  while (undo_.size() > to) {
    auto& [parameter, previous] = undo_.back();
    if (previous == nullptr)
      bound_.erase(parameter);
    else
      bound_[parameter] = previous;
    undo_.pop_back();
  }
}

}  // namespace berth::cel
