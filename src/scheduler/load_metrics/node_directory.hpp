// Maps names used by external systems (node name, address, host name) to rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_map.hpp"
#include "scheduler/cluster/node_table.hpp"

namespace berth::load_metrics {

// The labels of a time series that identify its node: label and value, the most reliable label first.
using SeriesName = std::vector<std::pair<std::string, std::string>>;

// Scheduler loop only.
class NodeDirectory {
 public:
  explicit NodeDirectory(const cluster::NodeTable& nodes) : nodes_(nodes) {}

  // Must be called when nodes were added or removed. Changes of addresses are detected later, after a number
  // of lookups.
  void NodesChanged() { stale_ = true; }
  // Rebuilds the index if necessary. Returns a generation number that changes with each rebuild.
  std::uint64_t Refresh();
  // Finds a node by its name; then, ignoring a port, by its name, one of its addresses or, if unique, the
  // first label of its name. kNoRow: no match, or an ambiguous one. For a series, the first label with a
  // match decides.
  cluster::Row Find(const SeriesName& series) const;
  cluster::Row Find(std::string_view text) const;

 private:
  using Index = FlatTextMap<cluster::Row>;

  void Add(std::string_view text, cluster::Row row);

  const cluster::NodeTable& nodes_;
  Index names_;   // by name and address
  Index shorts_;  // by the first DNS label of a name
  std::uint64_t generation_ = 0;
  std::uint32_t refreshes_ = 0;  // number of refreshes since the last rebuild
  bool stale_ = true;
};

// "10.0.0.5:9100" -> "10.0.0.5", "[fd00::1]:9100" and "[fd00::1]" -> "fd00::1"; other strings are unchanged.
std::string_view WithoutPort(std::string_view text);

}  // namespace berth::load_metrics
