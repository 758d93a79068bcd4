// The parts of objects that a decoder retains only on request.
#pragma once

#include <string>
#include <vector>

namespace berth::api {

// Selects the objects whose whole text is retained, as JSON in Go's format without kind and apiVersion (pods
// also without managedFields): for components that pass objects on, such as extender clients. Texts of nodes
// take tens of kilobytes.
struct RetainedTexts {
  bool nodes = false;
  bool waiting_pods = false;  // pods without a node
  bool placed_pods = false;
};

struct RetainedFields {
  // Keys of annotations; those that in-tree plugins read are always retained.
  std::vector<std::string> annotations{};
  RetainedTexts texts{};
};

}  // namespace berth::api
