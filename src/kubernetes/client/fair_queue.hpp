// Which of several waiting entries is next.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include "base/text_map.hpp"

namespace berth::client {

// Entries of one flow, such as a namespace, wait in order. Flows take turns, and each has only a part of the
// slots at a time: entries that take long, because an admission webhook is slow, do not stop other flows.
// Entries without a flow ("") may have all slots. Grows with the entries that wait or have a slot. Not
// thread-safe.
class FairQueue {
 public:
  struct Entry {
    std::string flow, key;
  };

  FairQueue(std::size_t slots, std::size_t of_one_flow) : slots_(slots), of_one_flow_(of_one_flow) {}

  void Add(Entry entry);
  // The next entry that may have a slot, and has it from now on; nullopt if there is none.
  std::optional<Entry> Next();
  // An entry of this flow no longer needs its slot.
  void Release(const std::string& flow);
  // Entries that wait.
  std::size_t size() const { return waiting_; }

 private:
  struct Flow {
    std::string name{};
    std::size_t slots = 0;
    std::deque<std::string> waiting{};
  };
  bool MayHaveSlot(const Flow& flow) const { return flow.name.empty() || flow.slots < of_one_flow_; }

  const std::size_t slots_;
  const std::size_t of_one_flow_;
  std::size_t used_ = 0;
  std::size_t waiting_ = 0;
  TextMap<Flow> flows_;
  std::deque<Flow*> turns_;  // the flows with waiting entries, next first
};

}  // namespace berth::client
