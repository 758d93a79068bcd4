// Details of rejections beyond the reason, for explanations.
#pragma once

#include <string>
#include <vector>

#include "scheduler/framework/plugin.hpp"

namespace berth::framework {

// What a plugin adds to its reasons for these nodes.
struct RejectionDetail {
  std::vector<std::string> lines;  // sentences without a full stop
  RowSet rows;
};

// Called after Filter in the same attempt, or after a PreFilter of the plugin that rejected all nodes, and
// only for explanations. Messages and events do not contain the details.
class RejectionDetailsPlugin : public virtual Plugin {
 public:
  // `rejected`: the nodes that the plugin has rejected. A node is in at most one of the results.
  virtual std::vector<RejectionDetail> RejectionDetails(const Attempt& attempt,
                                                        const RowSet& rejected) const = 0;
};

}  // namespace berth::framework
