// Numbers of matching pods by topology domain, as PodTopologySpread counts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/explanation/situation.hpp"

namespace berth::explanation {

// A constraint with whenUnsatisfiable DoNotSchedule.
struct SpreadState {
  std::size_t index = 0;  // in spec.topologySpreadConstraints
  std::string key;
  std::int64_t max_skew = 0;
  std::int64_t self = 0;                            // 1 if the constraint selects the pod itself
  std::map<std::string, std::int64_t> counts = {};  // by the label's value; domains of eligible nodes only
  std::int64_t minimum = 0;                         // of the counts, or 0 if there are fewer than minDomains

  // The skew if the pod were placed on this node; 0: the node has no such domain.
  std::int64_t SkewOn(const api::Node& node) const;
};

std::vector<SpreadState> SpreadStates(const Situation& at);

}  // namespace berth::explanation
