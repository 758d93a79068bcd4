// Small dense numbers that stand for strings (base/interner.hpp).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace berth {

// Counts up from 0 in order of first appearance. Interner never reuses an id, CountedInterner does. `Tag`
// distinguishes the ids of different interners: an Id<NodeNameTag> is not an Id<LabelTag>.
template <class Tag>
struct Id {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t value = kNone;

  constexpr bool known() const { return value != kNone; }
  friend constexpr auto operator<=>(Id, Id) = default;
  // Dense numbers need mixing: hash tables use the low bits.
  friend std::size_t hash_value(Id id) { return (id.value + 1) * 0x9e3779b97f4a7c15ULL >> 16; }
};

template <class Tag>
class Interner;

}  // namespace berth
