// Follows the demonstration's pods by a watch.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "tools/load_generator/api_load.hpp"

namespace berth::demo {

struct ObservedPod {
  std::string kind;
  std::string node;      // empty: not bound
  std::string message;   // of the condition PodScheduled=False
  bool evicted = false;  // by preemption
  MonoTime created;      // when its first event arrived
  MonoTime bound;        // when the event with its node arrived
};

// Thread-safe.
class Observer {
 public:
  static Expected<std::unique_ptr<Observer>> Start(std::uint16_t port);

  struct Counts {
    std::size_t seen = 0;
    std::size_t bound = 0;
    std::size_t explained = 0;  // unbound pods with a condition message
    std::uint64_t changes = 0;  // incremented on every event
    MonoTime first_created;
    MonoTime last_created;
    MonoTime last_bound;
  };
  Counts counts() const;
  std::vector<ObservedPod> Pods() const;
  bool ended() const { return watch_->ended(); }

 private:
  void OnLine(std::string_view line, MonoTime arrived);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, ObservedPod> pods_;  // by name
  Counts counts_;
  std::unique_ptr<load_generator::WatchThread> watch_;  // last: its thread uses the other members
};

}  // namespace berth::demo
