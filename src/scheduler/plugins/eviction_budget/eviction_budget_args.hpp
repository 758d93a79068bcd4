// EvictionBudgetArgs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/framework/factory.hpp"

namespace berth::plugins {

// Of preemptions that evict the pods of one workload again and again.
struct PreemptionLoopsArgs {
  static constexpr std::int64_t kFewestEvictions = 2, kMostEvictions = 100;
  static constexpr std::chrono::nanoseconds kShortest = std::chrono::seconds(1),
                                            kLongest = std::chrono::hours(24);
  std::int64_t evictions = 3;  // of a workload within the window
  std::chrono::nanoseconds window = std::chrono::minutes(10), pause = std::chrono::minutes(5);
  friend bool operator==(const PreemptionLoopsArgs&, const PreemptionLoopsArgs&) = default;
};

struct EvictionBudgetArgs {
  static constexpr std::int64_t kLongestRun = 30 * 24 * 3600;
  static constexpr std::size_t kMostBudgets = 1000;
  static constexpr std::int64_t kMostEvictions = 10'000;
  static constexpr std::chrono::nanoseconds kShortestPeriod = std::chrono::seconds(1),
                                            kLongestPeriod = std::chrono::hours(30 * 24);
  static constexpr std::string_view kOtherNamespaces = "*";

  struct Budget {
    std::string ns;              // or kOtherNamespaces: each namespace without a budget of its own
    std::int64_t evictions = 0;  // at most, within the period
    std::chrono::nanoseconds period = std::chrono::hours(1);
    friend bool operator==(const Budget&, const Budget&) = default;
  };
  // A pod that has run for a shorter time is not evicted; 0: no limit.
  std::int64_t min_run_seconds = 0;
  std::vector<Budget> budgets;
  std::optional<PreemptionLoopsArgs> loops;  // nullopt: loops are not detected
};

Expected<EvictionBudgetArgs> ParseEvictionBudgetArgs(const framework::RawArgs& raw);
config::ArgsCodec EvictionBudgetArgsCodec();

}  // namespace berth::plugins
