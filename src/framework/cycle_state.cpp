#include "framework/cycle_state.hpp"

namespace berth::framework {

CycleState CycleState::Clone() const {
  CycleState copy;
  copy.slots_.reserve(slots_.size());
  for (const auto& slot : slots_) copy.slots_.push_back(slot == nullptr ? nullptr : slot->Clone());
  copy.pods_to_activate = pods_to_activate;
  return copy;
}

}  // namespace berth::framework
