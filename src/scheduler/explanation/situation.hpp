// What the search for values and advice reads: the pod, the cluster, and the obstacles of this pod.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "scheduler/assembly/engine.hpp"
#include "scheduler/explanation/change.hpp"
#include "scheduler/explanation/obstacles.hpp"

namespace berth::explanation {

// What is read once, because it is needed for many nodes.
struct Lookups {
  // For each of PodInfo::fit().scalars: the rows that NodeResourcesFit rejects for it.
  std::vector<RowSet> insufficient;
  // The keys of the labels of all nodes, sorted; empty unless NodeAffinity rejects a node.
  std::vector<std::string> label_keys;
};
Lookups FindLookups(const cluster::PodInfo& pod, const cluster::NodeTable& nodes,
                    const cluster::SymbolTable& symbols, const Obstacles& obstacles);

// Valid while the cluster does not change.
struct Situation {
  const cluster::PodInfo& pod;
  cluster::ClusterState& cluster;
  const cluster::SymbolTable& symbols;
  const Obstacles& obstacles;
  const Lookups& lookups;                 // of this pod and these obstacles
  std::span<const cluster::Row> by_name;  // all rows, in the order of their nodes' names
  const AllowsNodeChange& allows;         // the changes of nodes that may be proposed

  const cluster::NodeTable& nodes() const { return cluster.nodes(); }
};

// The rows in the order of their nodes' names.
std::vector<cluster::Row> RowsByName(const Situation& at, const RowSet& rows);
std::vector<std::string> NamesOfRows(const Situation& at, const RowSet& rows);

}  // namespace berth::explanation
