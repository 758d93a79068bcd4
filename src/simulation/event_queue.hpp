// Events in order of their times: two heaps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/clock.hpp"

namespace berth::simulation {

// Events of the same time have the order in which they were added. Adding, removing and cancelling cost
// O(log n) on average; the order is kept in arrays, because a simulation has tens of thousands of
// events in its future and a tree would cost a cache miss per level (base/timer_queue.hpp is such a tree).
// Most events are only milliseconds ahead: they have an array of their own, which stays in the cache. One
// thread.
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
    const bool far = time > taken_ + kNear;
    slots_[slot] = {.event = std::move(event), .number = ++last_number_, .far = far};
    (far ? far_ : near_).Add({time, last_number_, slot});
    return {last_number_, slot};
  }
  // No effect if the event was taken or cancelled before.
  void Cancel(const Id& id) {
    if (id.number == 0 || id.slot >= slots_.size() || slots_[id.slot].number != id.number) return;
    Heap& heap = slots_[id.slot].far ? far_ : near_;
    // Its destructor may use the queue, so it runs at the end.
    const Event cancelled = Release(id.slot);
    ++heap.cancelled;
    DropCancelled(heap);
  }
  bool empty() const { return near_.entries.empty() && far_.entries.empty(); }
  std::size_t size() const { return near_.size() + far_.size(); }
  // With those of cancelled events: what determines the memory. At most 2 * size().
  std::size_t entries() const { return near_.entries.size() + far_.entries.size(); }
  // Of the first event. Requires !empty().
  MonoTime next() const { return (IsNearFirst() ? near_ : far_).entries.front().time; }
  // Removes the first event. Requires !empty().
  Event Take() {
    BERTH_DCHECK(!empty());
    Heap& heap = IsNearFirst() ? near_ : far_;
    const Entry first = heap.entries.front();
    taken_ = first.time;
    heap.RemoveFirst();
    Event event = Release(first.slot);
    DropCancelled(heap);
    return event;
  }
  // Drops all events without running them. Their destructors must not add events.
  void Clear() {
    near_ = {};
    far_ = {};
    unused_.clear();
    const std::vector<Slot> dropped = std::exchange(slots_, {});  // a destructor may cancel events
  }

 private:
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
    bool far = false;          // which heap
  };
  // The first entry is one of a valid event: cancelled ones are dropped when they become the first.
  struct Heap {
    static constexpr std::size_t kChildren = 4;  // 24 bytes each: two cache lines

    std::size_t size() const { return entries.size() - cancelled; }
    void Add(const Entry& entry) {
      entries.emplace_back();
      MoveUp(entries.size() - 1, entry);
    }
    void RemoveFirst() {
      const Entry last = entries.back();
      entries.pop_back();
      if (!entries.empty()) MoveDown(0, last);
    }
    void KeepIf(auto&& valid) {
      std::erase_if(entries, [&](const Entry& entry) { return !valid(entry); });
      cancelled = 0;
      for (std::size_t place = (entries.size() + kChildren - 2) / kChildren; place-- > 0;)
        MoveDown(place, Entry(entries[place]));
    }
    // These two place the entry at `place` or above it, and at `place` or below it.
    void MoveUp(std::size_t place, const Entry& entry) {
      while (place > 0) {
        const std::size_t parent = (place - 1) / kChildren;
        if (!entry.Before(entries[parent])) break;
        entries[place] = entries[parent];
        place = parent;
      }
      entries[place] = entry;
    }
    void MoveDown(std::size_t place, const Entry& entry) {
      for (;;) {
        const std::size_t first = place * kChildren + 1;
        if (first >= entries.size()) break;
        std::size_t least = first;
        for (std::size_t child = first + 1; child < std::min(first + kChildren, entries.size()); ++child) {
          if (entries[child].Before(entries[least])) least = child;
        }
        if (!entries[least].Before(entry)) break;
        entries[place] = entries[least];
        place = least;
      }
      entries[place] = entry;
    }

    std::vector<Entry> entries;
    std::size_t cancelled = 0;  // of the entries
  };

  bool IsValid(const Entry& entry) const { return slots_[entry.slot].number == entry.number; }
  // The entry of a cancelled event stays until it is the first one, or until they are the majority.
  void DropCancelled(Heap& heap) {
    if (heap.cancelled > heap.entries.size() / 2)
      heap.KeepIf([this](const Entry& entry) { return IsValid(entry); });
    while (!heap.entries.empty() && !IsValid(heap.entries.front())) {
      heap.RemoveFirst();
      --heap.cancelled;
    }
  }
  // Requires !empty().
  bool IsNearFirst() const {
    if (near_.entries.empty() || far_.entries.empty()) return far_.entries.empty();
    return near_.entries.front().Before(far_.entries.front());
  }
  Event Release(std::uint32_t slot) {
    slots_[slot].number = 0;
    unused_.push_back(slot);
    return std::exchange(slots_[slot].event, nullptr);
  }

  Heap near_, far_;   // an event stays in its heap, also when it has come near
  MonoTime taken_{};  // the time of the last event that was taken
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> unused_;  // slots
  std::uint64_t last_number_ = 0;
};

}  // namespace berth::simulation
