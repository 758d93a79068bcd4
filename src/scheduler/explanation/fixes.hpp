// Single changes that remove one plugin's objection to a node. They are candidates: whether the pod fits then
// is evaluated by advice.hpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/explanation/change.hpp"
#include "scheduler/explanation/situation.hpp"

namespace berth::explanation {

struct Fix {
  std::string text;                            // imperative, without a full stop
  int effort = 0;                              // orders advice: lower is easier
  std::function<void(api::Pod&)> on_pod = {};  // empty: the pod is unchanged
  std::string node = {};                       // the node that on_node changes
  std::function<void(api::Node&)> on_node = {};
  std::vector<api::PodPtr> leaving = {};
  std::optional<NewNode> new_node = {};
  bool names_node = false;  // the text contains a node's label kubernetes.io/hostname
};

// Nodes with the same obstacles.
struct RowGroup {
  RowSet rows;
  std::vector<const Obstacle*> obstacles;
  cluster::Row nearest = cluster::kNoRow;  // the row with the smallest shortfall, the first by name
  double shortfall = 0;                    // of that row
};

// Sets the nearest row and its shortfall, of the rows for which `eligible` returns true; empty: of all.
// Without such a row, the nearest one is kNoRow.
void FindNearest(const Situation& at, RowGroup& group,
                 const std::function<bool(cluster::Row)>& eligible = {});

// The alternatives against this plugin's obstacles for the group, the easiest first; at most a few. Empty:
// none is known. All work for the group's nearest row. Some may change a node as the situation does not
// allow.
std::vector<Fix> FixesFor(const Situation& at, const RowGroup& group, std::string_view plugin);

// Whether the situation allows the fix to change the node of this row; true if it changes no node.
bool IsAllowedOn(const Situation& at, const Fix& fix, cluster::Row row);

// Changes of a pod that is rejected whatever the node; all of them together may help. Empty: none is known.
std::vector<Fix> FixesForPod(const Situation& at);

// A further node with the properties, devices, volume limits and topology of this one, and with copies of its
// DaemonSets' pods.
Fix NodeLike(const Situation& at, cluster::Row row);

// The changes of all fixes together; a node that several fixes add is added once. `pod` is the pod before the
// change.
Change Combine(const Situation& at, const api::PodPtr& pod, const std::vector<Fix>& fixes);

}  // namespace berth::explanation
