// A judged pod for people: where it would go and why not elsewhere.
#pragma once

#include <string>

#include "scheduler/assembly/explainer.hpp"

namespace berth::explain {

struct TextOptions {
  bool all_nodes = false;      // every node with its verdict, not only groups and examples
  std::size_t best_nodes = 5;  // how many of the best nodes are shown with their scores
  std::size_t nearest_misses = 3;
};

std::string ExplanationText(const assembly::Explainer::Evaluated& judged, const assembly::Engine& engine,
                            const TextOptions& options);

}  // namespace berth::explain
