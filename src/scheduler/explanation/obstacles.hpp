// All reasons against each node: the filters of all plugins, not only up to the first that rejects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/row_set.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/framework/rejection_details.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::explanation {

struct Obstacle {
  std::string plugin;  // several, separated by commas, if PreFilter excluded the nodes
  std::string reason;
  RowSet rows;
};

struct Obstacles {
  // Not ok: PreFilter rejected the pod as a whole, or failed; then no filter was run, and `details` are those
  // of the plugin that rejected it, for all nodes.
  framework::Status pre_filter;
  std::vector<Obstacle> all;  // in profile order; a row may be in several
  std::vector<framework::RejectionDetail> details;

  // The rows that the plugin rejects.
  RowSet RejectedBy(std::string_view plugin, std::size_t rows) const;
};

// Pods that are nominated to nodes do not count. A filter's error is a reason against its row. `reasons` are
// those of the profile's plugins.
Obstacles FindObstacles(const cluster::PodInfo& pod, const runtime::Profile& profile,
                        const cluster::NodeTable& nodes, const framework::Reasons& reasons);

}  // namespace berth::explanation
