// The text form of an explanation: the pod's node and the reasons against the others.
#pragma once

#include <string>

#include "scheduler/assembly/explainer.hpp"

namespace berth::explain {

struct TextOptions {
  bool all_nodes = false;      // list every node with its result, not only groups and examples
  std::size_t best_nodes = 5;  // number of best nodes listed with their scores
  std::size_t nearest_misses = 3;
  std::size_t details = 5;  // number of different details of rejections
};

// One pod's explanation as text of several lines, ending with a newline.
std::string ExplanationText(const assembly::Explainer::Evaluated& evaluated, const assembly::Engine& engine,
                            const TextOptions& options);

}  // namespace berth::explain
