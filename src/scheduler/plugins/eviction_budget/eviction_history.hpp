// The latest evictions of each namespace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/text_map.hpp"

namespace berth::plugins {

// At most this many evictions within a period that ends now.
struct EvictionLimit {
  std::size_t evictions = 0;
  std::int64_t period = 0;  // seconds; at least 1
};

// Keeps the latest evictions of a namespace within its period, at most as many as its limit has. A namespace
// without any is forgotten. All times are Unix seconds. Scheduler loop only.
class EvictionHistory {
 public:
  // No effect if the pod is known. Times in the future count as `now`.
  void Add(const std::string& ns, const std::string& uid, std::int64_t at, EvictionLimit limit,
           std::int64_t now);
  // The number of evictions within the period.
  std::size_t Count(std::string_view ns, EvictionLimit limit, std::int64_t now);
  // When `more` evictions, at most limit.evictions, are within the limit, if none comes in between. `now` if
  // they are already.
  std::int64_t AllowedAt(std::string_view ns, std::size_t more, EvictionLimit limit, std::int64_t now);
  // The number of namespaces with evictions, including some whose last eviction is longer ago.
  std::size_t namespaces() const { return by_namespace_.size(); }

  // The content as a value, for recordings.
  using SavedEvictions = std::vector<std::pair<std::int64_t, std::string>>;  // times with UIDs
  struct Saved {
    struct OfNamespace {
      std::string ns;
      std::int64_t period = 0;
      SavedEvictions evictions;
      static void VisitFields(auto& self, auto&& visit) {
        visit("namespace", self.ns);
        visit("period", self.period);
        visit("evictions", self.evictions);
      }
    };
    std::vector<OfNamespace> namespaces;
    std::size_t forget_at = 0;
    static void VisitFields(auto& self, auto&& visit) {
      visit("namespaces", self.namespaces);
      visit("forgetAt", self.forget_at);
    }
  };
  Saved Save() const;
  Expected<void> Restore(const Saved& saved);

 private:
  struct Eviction {
    std::int64_t at = 0;
    std::string uid;
  };
  struct Namespace {
    std::int64_t period = 0;           // of the last use
    std::int64_t expired = INT64_MIN;  // when evictions were last removed, with that period
    std::vector<Eviction> evictions;   // the earliest first
  };
  static void Expire(Namespace& of, std::int64_t period, std::int64_t now);
  void ForgetOld(std::int64_t now);

  TextMap<Namespace> by_namespace_;
  std::size_t forget_at_ = 64;  // namespaces
};

}  // namespace berth::plugins
