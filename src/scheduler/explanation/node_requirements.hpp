// The requirements of a pod's node selector and node affinity, and which of them a node fails.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/explanation/situation.hpp"

namespace berth::explanation {

// A requirement as written in the pod: an entry of spec.nodeSelector, or of a required term of node affinity.
struct NodeRequirement {
  std::optional<std::size_t> term;    // index in requiredDuringScheduling...; none: spec.nodeSelector
  std::size_t index = 0;              // of the entry in matchExpressions
  api::NodeSelectorRequirement spec;  // nodeSelector: operator In with one value

  // "disk=ssd", "zone In (a, b)", "gpu Exists"
  std::string Text() const;
  bool Matches(const api::Node& node) const;
  // Those of the rows that it does not match.
  RowSet FailingRows(const cluster::NodeTable& nodes, const RowSet& rows) const;
};

// All label requirements; matchFields are not included.
std::vector<NodeRequirement> NodeRequirements(const api::Pod& pod);

// Of the requirements that the node fails, those that must change so that it matches: of nodeSelector all, of
// the affinity terms those of the term with the fewest.
std::vector<NodeRequirement> FailedRequirements(const api::Pod& pod, const api::Node& node);

// The values of a label with the number of nodes, the most frequent first.
std::vector<std::pair<std::string, std::size_t>> LabelValues(const cluster::NodeTable& nodes,
                                                             const RowSet& rows, const std::string& key);
// The existing value that is probably meant: close in spelling; empty: none.
std::string NearestValue(const cluster::NodeTable& nodes, const NodeRequirement& requirement);
// Likewise the key, if no node has the one that is required. `keys`: of all nodes, sorted.
std::string NearestKey(const std::vector<std::string>& keys, const NodeRequirement& requirement);

}  // namespace berth::explanation
