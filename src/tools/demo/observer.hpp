// What the demonstration sees of its pods: only what a watch shows to anybody.
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

struct PodSeen {
  std::string kind;
  std::string node;      // empty while it is not bound
  std::string message;   // of the condition PodScheduled=False
  bool evicted = false;  // to make room for a more important pod
  MonoTime created;      // when its first event arrived
  MonoTime bound;        // when the event with its node arrived
};

// Safe to use from any thread.
class Observer {
 public:
  static Expected<std::unique_ptr<Observer>> Start(std::uint16_t port);

  struct Counts {
    std::size_t seen = 0;
    std::size_t bound = 0;
    std::size_t explained = 0;  // not bound, with a message
    std::uint64_t changes = 0;  // grows with everything that happens
    MonoTime first_created;
    MonoTime last_created;
    MonoTime last_bound;
  };
  Counts counts() const;
  std::vector<PodSeen> Pods() const;
  bool ended() const { return watch_->ended(); }

 private:
  void OnLine(std::string_view line, MonoTime arrived);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, PodSeen> pods_;  // by name
  Counts counts_;
  std::unique_ptr<load_generator::WatchThread> watch_;  // last: its thread uses the others
};

}  // namespace berth::demo
