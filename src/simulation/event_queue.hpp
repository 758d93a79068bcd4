// Events in order of their times: an indexed heap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/clock.hpp"

namespace berth::simulation {

// Events of the same time have the order in which they were added. Adding, removing and cancelling cost O(log
// n); the order is kept in one array, because a simulation has tens of thousands of events in its future and
// a tree would cost a cache miss per level (base/timer_queue.hpp is such a tree). One thread.
class EventQueue {
 public:
  using Event = std::move_only_function<void()>;
  // Default: of no event.
  struct Id {
    std::uint64_t number = 0;
    std::uint32_t slot = 0;
  };

  Id Add(MonoTime time, Event event) {
    if (unused_.empty()) {
      unused_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    const std::uint32_t slot = unused_.back();
    unused_.pop_back();
    slots_[slot].event = std::move(event);
    slots_[slot].number = ++last_number_;
    heap_.emplace_back();
    MoveUp(heap_.size() - 1, {time, last_number_, slot});
    return {last_number_, slot};
  }
  // No effect if the event was taken or cancelled before.
  void Cancel(const Id& id) {
    if (id.number == 0 || id.slot >= slots_.size() || slots_[id.slot].number != id.number) return;
    RemoveAt(slots_[id.slot].place);
    Release(id.slot);
  }
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  // Of the first event. Requires !empty().
  MonoTime next() const { return heap_.front().time; }
  // Removes the first event. Requires !empty().
  Event Take() {
    BERTH_DCHECK(!heap_.empty());
    const std::uint32_t slot = heap_.front().slot;
    RemoveAt(0);
    Event event = std::move(slots_[slot].event);
    Release(slot);
    return event;
  }
  // Drops all events without running them. Their destructors must not add events.
  void Clear() {
    heap_.clear();
    unused_.clear();
    slots_.clear();
  }

 private:
  static constexpr std::size_t kChildren = 4;  // 24 bytes each: two cache lines
  struct Entry {
    MonoTime time;
    std::uint64_t number = 0;
    std::uint32_t slot = 0;
    bool Before(const Entry& other) const {
      return time != other.time ? time < other.time : number < other.number;
    }
  };
  struct Slot {
    Event event;
    std::uint64_t number = 0;  // 0: unused
    std::size_t place = 0;     // in the heap
  };

  void Release(std::uint32_t slot) {
    slots_[slot].number = 0;
    slots_[slot].event = nullptr;
    unused_.push_back(slot);
  }
  void Put(std::size_t place, const Entry& entry) {
    heap_[place] = entry;
    slots_[entry.slot].place = place;
  }
  // These two place the entry at `place` or above it, and at `place` or below it.
  void MoveUp(std::size_t place, const Entry& entry) {
    while (place > 0) {
      const std::size_t parent = (place - 1) / kChildren;
      if (!entry.Before(heap_[parent])) break;
      Put(place, heap_[parent]);
      place = parent;
    }
    Put(place, entry);
  }
  void MoveDown(std::size_t place, const Entry& entry) {
    for (;;) {
      const std::size_t first = place * kChildren + 1;
      if (first >= heap_.size()) break;
      std::size_t least = first;
      for (std::size_t child = first + 1; child < std::min(first + kChildren, heap_.size()); ++child) {
        if (heap_[child].Before(heap_[least])) least = child;
      }
      if (!heap_[least].Before(entry)) break;
      Put(place, heap_[least]);
      place = least;
    }
    Put(place, entry);
  }
  void RemoveAt(std::size_t place) {
    const Entry last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    const bool rises = place > 0 && last.Before(heap_[(place - 1) / kChildren]);
    rises ? MoveUp(place, last) : MoveDown(place, last);
  }

  std::vector<Entry> heap_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> unused_;  // slots
  std::uint64_t last_number_ = 0;
};

}  // namespace berth::simulation
