// The answer to a question, as text and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/explain/explanation_text.hpp"
#include "tools/what_if/compare.hpp"
#include "tools/what_if/consolidate.hpp"
#include "tools/what_if/nodes_needed.hpp"
#include "tools/what_if/questions.hpp"
#include "tools/what_if/scenario.hpp"

namespace berth::what_if {

// Refers to the scenario.
struct Report {
  const Scenario& scenario;
  std::size_t followed = 0;  // the first pods of followed(): those of changes, not of questions
  std::uint64_t seed = 1;
  std::vector<ChangeResult> changes;
  Waiting waiting;

  std::span<const FollowedPod> pods() const { return std::span(scenario.followed()).first(followed); }
  // Of these pods the ones that exist, with a node or without.
  struct Totals {
    std::size_t placed = 0, waiting = 0;
  };
  Totals totals() const {
    Totals totals;
    for (const FollowedPod& pod : pods()) {
      if (!pod.gone) ++(pod.node.empty() ? totals.waiting : totals.placed);
    }
    return totals;
  }
  std::vector<std::string> left_out;  // what was not considered
  std::optional<HowMany> how_many = {};
  std::optional<NodeMix> nodes_needed = {};
  std::optional<Consolidation> consolidation = {};
  std::optional<Comparison> comparison = {};
};

std::string ReportText(const Report& report, const explain::TextOptions& options);
// One object, with a newline; docs/guide/what-if.md describes it.
std::string ReportJson(const Report& report);

}  // namespace berth::what_if
