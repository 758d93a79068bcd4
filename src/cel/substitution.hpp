// Type parameters and the types that were found for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text_map.hpp"
#include "cel/type.hpp"

namespace berth::cel {

// The work is bounded: type parameters that contain each other in pairs, {a: a}, double it with every level.
class Substitution {
 public:
  // Whether the types are too complex. From then on Assign returns false and Apply changes nothing.
  bool exhausted() const { return steps_left_ == 0; }
  // Whether a value of type `from` can be used as `to`. Records what type parameters must be for that;
  // changes nothing if the result is false.
  bool Assign(const TypePtr& to, const TypePtr& from);
  bool AssignAll(std::span<const TypePtr> to, std::span<const TypePtr> from);
  // Replaces bound type parameters, and unbound ones by dyn if `unbound_to_dyn`.
  TypePtr Apply(const TypePtr& type, bool unbound_to_dyn) const;
  void Bind(const std::string& parameter, TypePtr type) { Set(parameter, std::move(type)); }

 private:
  bool Assignable(const TypePtr& a, const TypePtr& b);
  bool AllAssignable(std::span<const TypePtr> a, std::span<const TypePtr> b);
  // Whether the parameter `b` (or what it is bound to) can stand for `a`; `bound`: whether it was bound.
  bool Substitutable(const TypePtr& a, const TypePtr& b, bool& bound);
  bool NotWithin(const TypePtr& type, const TypePtr& within) const;
  TypePtr Find(const TypePtr& type) const;
  void Set(const std::string& parameter, TypePtr type);
  void Undo(std::size_t to);
  // Returns false if no steps are left.
  bool Spend(std::uint64_t steps) const;

  mutable std::uint64_t steps_left_ = 2'000'000;
  TextMap<TypePtr> bound_;
  std::vector<std::pair<std::string, TypePtr>> undo_;  // previous values; null: unbound
};

// The more general of two types that can be assigned to each other.
TypePtr MostGeneral(const TypePtr& a, const TypePtr& b);
bool IsDyn(const Type& type);  // dyn or any
bool IsDynOrError(const Type& type);
bool IsOptional(const Type& type);

}  // namespace berth::cel
