// The text form of explanations: one paragraph for pods with the same one, after a summary.
#pragma once

#include <string>
#include <vector>

#include "scheduler/explanation/explanation.hpp"
#include "scheduler/framework/verdicts.hpp"

namespace berth::explain {

struct TextOptions {
  bool wide = false;           // every node with its result, all groups, and kube-scheduler's message
  bool colour = false;         // ANSI escape sequences
  std::size_t width = 0;       // columns; 0: lines are not wrapped
  std::size_t best_nodes = 5;  // with their scores
  std::size_t groups = 6;      // of nodes that do not fit
  std::size_t advice = 5;
};

// Pods with the same owner and the same text, or the waiting members of a group.
struct PodsOfText {
  explanation::Explanation example;
  std::string headline = {};           // of a group; empty: made from the example
  std::vector<std::string> pods = {};  // "namespace/name", the example is the first
  std::string body = {};               // ExplanationBody of the example
};

// Everything after the headline, which names the pod: equal for pods with the same explanation. Lines are
// indented by two columns. `reasons` are those of the engine that explained.
std::string ExplanationBody(const explanation::Explanation& explanation, const framework::Reasons& reasons,
                            const TextOptions& options);
// Headline and body, ending with a newline.
std::string ExplanationText(const PodsOfText& pods, const TextOptions& options);

// The entry of a group.
PodsOfText GroupText(const explanation::GroupExplanation& group, const framework::Reasons& reasons,
                     const TextOptions& options);

// Combines explanations with the same owner, result and body. Pods that wait come first, then by number of
// pods.
std::vector<PodsOfText> GroupByText(std::vector<PodsOfText> all);
// "82 pods wait, for 2 different reasons; 1 would be placed", with a newline; empty for one pod.
std::string SummaryText(const std::vector<PodsOfText>& groups, const TextOptions& options);

}  // namespace berth::explain
