// What plugins remember of one attempt, from PreFilter to PostBind (kube-scheduler's CycleState).
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
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

  // Null if nothing was written in this attempt.
  template <class T>
  T* Read(StateKey<T> key) const {
    if (key.slot_ >= slots_.size() || slots_[key.slot_] == nullptr) return nullptr;
    return &static_cast<Holder<T>&>(*slots_[key.slot_]).value;
  }
  // Replaces what was there.
  template <std::copy_constructible T>
  T& Write(StateKey<T> key, T value) {
    if (key.slot_ >= slots_.size()) slots_.resize(key.slot_ + 1);
    auto holder = std::make_unique<Holder<T>>(std::move(value));
    T& kept = holder->value;
    slots_[key.slot_] = std::move(holder);
    return kept;
  }

  CycleState Clone() const;

  // Waiting pods ("namespace/name") that the plugins want tried at once, without event or back-off, when this
  // one is through Permit, and again when it is bound.
  std::vector<std::string> pods_to_activate;

 private:
  struct Slot {
    virtual ~Slot() = default;
    virtual std::unique_ptr<Slot> Clone() const = 0;
  };
  template <class T>
  struct Holder final : Slot {
    explicit Holder(T value) : value(std::move(value)) {}
    std::unique_ptr<Slot> Clone() const override { return std::make_unique<Holder>(value); }
    T value;
  };

  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace berth::framework
