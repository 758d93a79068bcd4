// Which node a text means that somebody outside uses for it: its name, an address, a host name.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/cluster/node_table.hpp"

namespace berth::load_metrics {

// What a series says of its node: label and value, the most telling label first.
using SeriesName = std::vector<std::pair<std::string, std::string>>;

// One thread: the loop's.
class NodeDirectory {
 public:
  explicit NodeDirectory(const cluster::NodeTable& nodes) : nodes_(nodes) {}

  // Nodes have come or gone. Addresses that change later are noticed too, but not at once.
  void NodesChanged() { stale_ = true; }
  // Made anew if need be; the number changes when it is.
  std::uint64_t Refresh();
  // The node's name, then, without a port, its name, one of its addresses or, if only one node has it, the
  // first label of its name. kNoRow: none, or more than one. The first label that tells decides.
  cluster::Row Find(const SeriesName& series) const;
  cluster::Row Find(std::string_view text) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Index = boost::unordered_flat_map<std::string, cluster::Row, Hash, std::equal_to<>>;

  void Add(std::string_view text, cluster::Row row);

  const cluster::NodeTable& nodes_;
  Index names_;   // by name, and by what stands for a name
  Index shorts_;  // by first labels of names
  std::uint64_t generation_ = 0;
  std::uint32_t asked_ = 0;  // since it was made
  bool stale_ = true;
};

// "10.0.0.5:9100" -> "10.0.0.5", "[fd00::1]:9100" and "[fd00::1]" -> "fd00::1"; other texts stay.
std::string_view WithoutPort(std::string_view text);

}  // namespace berth::load_metrics
