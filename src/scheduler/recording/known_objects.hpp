// The objects of a cluster, as the changes of a recording made them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/text_map.hpp"
#include "kubernetes/api/objects.hpp"
#include "kubernetes/ports/ports.hpp"
#include "scheduler/recording/latest_objects.hpp"

namespace berth::recording {

// Appends the step of an object that was created or updated, up to its member "t", without "{".
void AppendChangeHead(std::string& out, const ports::ClusterChange& change);
// Appends the line with the object itself.
void AppendObject(std::string& out, const ports::ClusterChange& change);

// Shares the objects with the scheduler. One thread.
class KnownObjects {
 public:
  void Apply(const ports::ClusterChange& change);
  // Appends the step that begins a snapshot: the rows of the nodes in cluster::NodeTable, in this order, and
  // the rows without a node in the order in which they become free.
  void AppendRows(std::string& out, const std::vector<api::NodePtr>& nodes) const;
  // Appends the objects as steps: first `nodes` in their order, then all others but pods, then pods, each
  // kind sorted by key. Calls `flush` after each.
  void AppendTo(std::string& out, const std::vector<api::NodePtr>& nodes,
                const std::function<void()>& flush) const;

 private:
  void ApplyToRows(const ports::Change<api::Node>& change);

  LatestObjects latest_;
  // As the node table assigns them: a new node gets the row that became free last.
  TextMap<std::uint32_t> row_of_;
  std::vector<std::uint32_t> free_rows_;
};

}  // namespace berth::recording
