// One pod at a time writes a claim: the members of a group that share an allocation begin their bindings
// together, and would otherwise only cause each other conflicts.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "base/text_map.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/plugins/dynamic_resources/pod_claims.hpp"

namespace berth::plugins {

// Scheduler loop only. Holds an entry only while a claim is written.
class ClaimTurns {
 public:
  // Receives the claim as the pod before has left it; null: no pod was before.
  using Begin = std::move_only_function<void(ResourceClaimPtr)>;

  explicit ClaimTurns(framework::Handle& handle) : handle_(handle) {}

  // Calls `begin` when no other pod writes the claim: now, or later by the loop. Every call must be followed
  // by one of End.
  void Take(const std::string& claim_uid, Begin begin) {
    const auto [entry, first] = waiting_.try_emplace(claim_uid);
    first ? begin(nullptr) : entry->second.push_back(std::move(begin));
  }
  void End(const std::string& claim_uid, ResourceClaimPtr claim) {
    const auto entry = waiting_.find(claim_uid);
    BERTH_CHECK(entry != waiting_.end(), claim_uid);
    if (entry->second.empty()) {
      waiting_.erase(entry);
      return;
    }
    handle_.loop.Post([begin = std::move(entry->second.front()), claim = std::move(claim)]() mutable {
      begin(std::move(claim));
    });
    entry->second.pop_front();
  }

 private:
  framework::Handle& handle_;
  TextMap<std::deque<Begin>> waiting_;  // by UID of the claim that is written: the next ones
};

}  // namespace berth::plugins
