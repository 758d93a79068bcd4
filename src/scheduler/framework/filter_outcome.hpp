// The combined result of all filters of a profile.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/row_set.hpp"
#include "scheduler/framework/status.hpp"
#include "scheduler/framework/verdicts.hpp"

namespace berth::framework {

// Owned by the caller and reused for the next attempt.
struct FilterOutcome {
  struct Rejection {
    std::size_t plugin = 0;  // index of filter in the profile
    ReasonId reason;
    RowSet rows;
  };
  struct PluginReasons {
    std::size_t plugin = 0;
    RowReasons reasons;
  };
  std::vector<Rejection> rejections;  // the first `used` are valid; per row only the first rejecting plugin
  std::size_t used = 0;
  std::vector<PluginReasons> row_reasons;
  std::vector<std::size_t> pending;  // plugins whose rejections are Pending
  RowSet unresolvable;               // subset of the rejected rows
  RowSet feasible;
  std::vector<std::pair<std::uint32_t, Status>> errors;  // (row, the error of its evaluation)
  Rejections last_call;                                  // of the last filter called; for the runtime

  void Reset(const RowSet& candidates);
  std::span<const Rejection> all() const { return {rejections.data(), used}; }
};

}  // namespace berth::framework
