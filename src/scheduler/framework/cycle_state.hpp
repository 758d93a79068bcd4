// Data that plugins store during one attempt, from PreFilter to PostBind (kube-scheduler's CycleState).
#pragma once

#include <any>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace berth::framework {

// Key of one value of type T in every CycleState. A plugin creates its keys once, in its constructor
// (Handle::NewKey), and may pass them to other plugins. A key has one type.
template <class T>
class StateKey {
 public:
  explicit constexpr StateKey(std::uint32_t slot) : slot_(slot) {}

 private:
  friend class CycleState;
  std::uint32_t slot_;
};

// A fact about an attempt that needs no value: a bit of its CycleState (Handle::NewMark).
enum class StateMark : std::uint64_t {};

// The runtime copies the state for nominated pods and for dry runs of preemption: values must be copyable,
// and large ones behind a std::shared_ptr. Scheduler loop; PreBind and Bind may read it on other threads.
class CycleState {
 public:
  CycleState() = default;
  CycleState(CycleState&&) = default;
  CycleState& operator=(CycleState&&) = default;

  // Null if no value was written in this attempt. The pointer is valid until another value is written.
  template <class T>
  T* Read(StateKey<T> key) {
    return std::any_cast<T>(Find(key.slot_));
  }
  template <class T>
  const T* Read(StateKey<T> key) const {
    return std::any_cast<T>(Find(key.slot_));
  }
  // Replaces an existing value.
  template <std::copy_constructible T>
  T& Write(StateKey<T> key, T value) {
    std::any* place = Find(key.slot_);
    if (place == nullptr) {
      Note& note = first_.value.has_value() ? more_.emplace_back() : first_;
      note.slot = key.slot_;
      place = &note.value;
    }
    return place->template emplace<T>(std::move(value));
  }

  void Mark(StateMark mark) { marks_ |= std::to_underlying(mark); }
  bool Has(StateMark mark) const { return (marks_ & std::to_underlying(mark)) != 0; }
  CycleState Clone() const { return *this; }

  bool in_group_cycle = false;  // of a member: what is reserved now is released when its group's cycle ends
  // Waiting pods ("namespace/name") to retry immediately, without an event or back-off. They are activated
  // when this pod has passed Permit, and again when it is bound.
  std::vector<std::string> pods_to_activate;

 private:
  struct Note {
    std::uint32_t slot = 0;
    std::any value = {};  // empty: no value
  };
  std::any* Find(std::uint32_t slot) { return const_cast<std::any*>(std::as_const(*this).Find(slot)); }
  const std::any* Find(std::uint32_t slot) const {
    if (first_.slot == slot) return &first_.value;
    for (const Note& note : more_) {
      if (note.slot == slot) return &note.value;
    }
    return nullptr;
  }
  CycleState(const CycleState&) = default;
  Note first_;
  std::vector<Note> more_;
  std::uint64_t marks_ = 0;
};

}  // namespace berth::framework
