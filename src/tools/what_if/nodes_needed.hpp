// How many nodes the pods that wait need.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/what_if/scenario.hpp"

namespace berth::what_if {

// A new scenario with all changes made.
using MakeScenario = std::function<Expected<std::unique_ptr<Scenario>>()>;

// A kind of nodes that can be added.
struct NodeShape {
  std::string name;  // in the answer
  std::string like;  // a node of the cluster, with its DaemonSet pods; exactly one of the two is set
  std::string file;  // a file with a Node
  double price = 0;  // of one node, in any unit; 0: none was given
};

struct NodeMix {
  struct Part {
    std::string shape;
    std::size_t count = 0;
    double price = 0;  // of one node
  };
  std::vector<Part> parts = {};
  std::size_t placed = 0;   // pods that waited and have a node then
  std::size_t waiting = 0;  // pods that wait even then
  double price = 0;         // of all nodes
};

// Reads a price list: YAML with a list "shapes" of name, like or file, and price.
Expected<std::vector<NodeShape>> ReadPrices(const std::string& file);

// The nodes to add so that as many of the waiting pods as possible are placed. With one shape, the number is
// the smallest one that suffices, as far as more nodes never place fewer pods: one node less was evaluated
// and does not suffice. With several shapes, the shape with the lowest price per placed pod is added first,
// until no shape places another pod; then nodes of each shape are exchanged for cheaper ones, and left out,
// as long as the same pods are placed. Without any one node of the result fewer pods are placed; a mix that
// differs in more nodes may be cheaper. `progress` receives texts.
Expected<NodeMix> FindNodesNeeded(const MakeScenario& make, const std::vector<NodeShape>& shapes,
                                  const std::function<void(const std::string&)>& progress);

}  // namespace berth::what_if
