// Explanations as JSON: a response of the scheduler's API, documented in docs/reference/scheduler-api.json
// (OpenAPI).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "scheduler/explanation/explanation.hpp"

namespace berth::explanation {

// What a reader may see.
enum class JsonView : std::uint8_t {
  // Reasons with the number of nodes, and advice that changes only the pod. No names of nodes and of other
  // pods, and no values of nodes.
  kSummary,
  kNodes,  // also names, deciding values, candidates, victims, and all advice
};

// The circumstances of an evaluation.
struct JsonContext {
  WallTime cluster_as_of;  // the time of the cluster that was evaluated
  WallTime evaluated_at;
  bool leading = false;                      // of the scheduler
  const std::vector<std::string>& left_out;  // what was not considered
};

// Of each list of names at most kMostJsonNames, with the complete number; at most kMostJsonGroups groups and
// kMostJsonCandidates candidates. The engine of the explanation must exist.
std::string ExplanationJson(const Explanation& explanation, const JsonContext& context, JsonView view);
// Appends the same object without the circumstances of the evaluation, for an answer that has its own.
void AppendExplanation(std::string& out, const Explanation& explanation, JsonView view);
// An object with the group's part of the decision record, its members, the member that does not fit (as in
// AppendExplanation), and the pods that hold what it needs.
std::string GroupJson(const GroupExplanation& group);
inline constexpr std::size_t kMostJsonNames = 10;
inline constexpr std::size_t kMostJsonGroups = 50;
inline constexpr std::size_t kMostJsonCandidates = 10;

}  // namespace berth::explanation
