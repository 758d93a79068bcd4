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
// n); the order is kept in arrays, because a simulation has tens of thousands of events in its future and a
// tree would cost a cache miss per level (base/timer_queue.hpp is such a tree). Most events are only
// milliseconds ahead: they have an array of their own, which stays in the cache. One thread.
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
    slots_[slot].far = time > taken_ + kNear;
    Heap& heap = HeapOf(slot);
    heap.emplace_back();
    MoveUp(heap, heap.size() - 1, {time, last_number_, slot});
    return {last_number_, slot};
  }
  // No effect if the event was taken or cancelled before.
  void Cancel(const Id& id) {
    if (id.number == 0 || id.slot >= slots_.size() || slots_[id.slot].number != id.number) return;
    RemoveAt(HeapOf(id.slot), slots_[id.slot].place);
    Release(id.slot);
  }
  bool empty() const { return near_.empty() && far_.empty(); }
  std::size_t size() const { return near_.size() + far_.size(); }
  // Of the first event. Requires !empty().
  MonoTime next() const { return First().front().time; }
  // Removes the first event. Requires !empty().
  Event Take() {
    BERTH_DCHECK(!empty());
    const Entry first = First().front();
    taken_ = first.time;
    RemoveAt(HeapOf(first.slot), 0);
    Event event = std::move(slots_[first.slot].event);
    Release(first.slot);
    return event;
  }
  // Drops all events without running them. Their destructors must not add events.
  void Clear() {
    near_.clear();
    far_.clear();
    unused_.clear();
    slots_.clear();
  }

 private:
  static constexpr std::size_t kChildren = 4;                        // 24 bytes each: two cache lines
  static constexpr Duration kNear = std::chrono::milliseconds(100);  // ahead of the last event that was taken
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
    bool far = false;          // which heap
  };
  using Heap = std::vector<Entry>;

  Heap& HeapOf(std::uint32_t slot) { return slots_[slot].far ? far_ : near_; }
  // The heap with the first event. Requires !empty().
  const Heap& First() const {
    if (near_.empty() || far_.empty()) return near_.empty() ? far_ : near_;
    return near_.front().Before(far_.front()) ? near_ : far_;
  }

  void Release(std::uint32_t slot) {
    slots_[slot].number = 0;
    slots_[slot].event = nullptr;
    unused_.push_back(slot);
  }
  void Put(Heap& heap, std::size_t place, const Entry& entry) {
    heap[place] = entry;
    slots_[entry.slot].place = place;
  }
  // These two place the entry at `place` or above it, and at `place` or below it.
  void MoveUp(Heap& heap, std::size_t place, const Entry& entry) {
    while (place > 0) {
      const std::size_t parent = (place - 1) / kChildren;
      if (!entry.Before(heap[parent])) break;
      Put(heap, place, heap[parent]);
      place = parent;
    }
    Put(heap, place, entry);
  }
  void MoveDown(Heap& heap, std::size_t place, const Entry& entry) {
    for (;;) {
      const std::size_t first = place * kChildren + 1;
      if (first >= heap.size()) break;
      std::size_t least = first;
      for (std::size_t child = first + 1; child < std::min(first + kChildren, heap.size()); ++child) {
        if (heap[child].Before(heap[least])) least = child;
      }
      if (!heap[least].Before(entry)) break;
      Put(heap, place, heap[least]);
      place = least;
    }
    Put(heap, place, entry);
  }
  void RemoveAt(Heap& heap, std::size_t place) {
    const Entry last = heap.back();
    heap.pop_back();
    if (place == heap.size()) return;
    const bool rises = place > 0 && last.Before(heap[(place - 1) / kChildren]);
    rises ? MoveUp(heap, place, last) : MoveDown(heap, place, last);
  }

  Heap near_, far_;   // an event stays in its heap, also when it has come near
  MonoTime taken_{};  // the time of the last event that was taken
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> unused_;  // slots
  std::uint64_t last_number_ = 0;
};

}  // namespace berth::simulation
