// What plugins remember of one attempt, from PreFilter to PostBind (kube-scheduler's CycleState).
#pragma once

#include <any>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace berth::framework {

// Names one value of type T in every CycleState. A plugin makes its keys once, when it is built
// (Handle::NewKey), and may hand them to other plugins; a key of one type cannot be used for another.
template <class T>
class StateKey {
 public:
  explicit constexpr StateKey(std::uint32_t slot) : slot_(slot) {}

 private:
  friend class CycleState;
  std::uint32_t slot_;
};

// Values are copied when the runtime needs a second state: for nodes with nominated pods, for the dry runs of
// preemption. So they must be copyable; what copies should share goes behind a std::shared_ptr<const ...>.
// Reading and writing are an index into a vector. Belongs to the scheduler loop, except that PreBind and Bind
// of one pod may read it from where they run: nobody writes by then.
class CycleState {
 public:
  CycleState() = default;
  CycleState(CycleState&&) = default;
  CycleState& operator=(CycleState&&) = default;

  // Null if nothing was written in this attempt. Until something else is written.
  template <class T>
  T* Read(StateKey<T> key) const {
    return key.slot_ < values_.size() ? std::any_cast<T>(&values_[key.slot_]) : nullptr;
  }
  // Replaces what was there.
  template <std::copy_constructible T>
  T& Write(StateKey<T> key, T value) {
    if (key.slot_ >= values_.size()) values_.resize(key.slot_ + 1);
    return values_[key.slot_].template emplace<T>(std::move(value));
  }

  CycleState Clone() const {
    CycleState copy;
    copy.values_ = values_;
    copy.pods_to_activate = pods_to_activate;
    return copy;
  }

  // Waiting pods ("namespace/name") that the plugins want tried at once, without event or back-off, when this
  // one is through Permit, and again when it is bound.
  std::vector<std::string> pods_to_activate;

 private:
  mutable std::vector<std::any> values_;  // that of a key; mutable: reading finds what can be changed
};

}  // namespace berth::framework
