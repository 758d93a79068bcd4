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
// Most attempts note down one thing or nothing, which takes no memory of its own. Belongs to the scheduler
// loop, except that PreBind and Bind of one pod may read it from where they run: nobody writes by then.
class CycleState {
 public:
  CycleState() = default;
  CycleState(CycleState&&) = default;
  CycleState& operator=(CycleState&&) = default;

  // Null if nothing was written in this attempt. Until something else is written.
  template <class T>
  T* Read(StateKey<T> key) const {
    return std::any_cast<T>(Find(key.slot_));
  }
  // Replaces what was there.
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

  CycleState Clone() const {
    CycleState copy;
    copy.first_ = first_;
    copy.more_ = more_;
    copy.pods_to_activate = pods_to_activate;
    return copy;
  }

  // Waiting pods ("namespace/name") that the plugins want tried at once, without event or back-off, when this
  // one is through Permit, and again when it is bound.
  std::vector<std::string> pods_to_activate;

 private:
  struct Note {
    std::uint32_t slot = 0;
    std::any value = {};  // empty: there is no such note
  };
  std::any* Find(std::uint32_t slot) const {
    if (first_.slot == slot) return &first_.value;
    for (Note& note : more_) {
      if (note.slot == slot) return &note.value;
    }
    return nullptr;
  }
  mutable Note first_;  // mutable: reading finds what can be changed
  mutable std::vector<Note> more_;
};

}  // namespace berth::framework
