// What the search for values and advice reads: the pod, the cluster, and the obstacles of this pod.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "scheduler/assembly/engine.hpp"
#include "scheduler/explanation/obstacles.hpp"

namespace berth::explanation {

// Valid while the cluster does not change.
struct Situation {
  const cluster::PodInfo& pod;
  cluster::ClusterState& cluster;
  const cluster::SymbolTable& symbols;
  const Obstacles& obstacles;
  std::span<const cluster::Row> by_name;  // all rows, in the order of their nodes' names

  const cluster::NodeTable& nodes() const { return cluster.nodes(); }
};

// The rows in the order of their nodes' names.
std::vector<cluster::Row> RowsByName(const Situation& at, const RowSet& rows);
std::vector<std::string> NamesOfRows(const Situation& at, const RowSet& rows);

}  // namespace berth::explanation
