#include "scheduler/devices/node_match.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::devices {

NodeMatch::NodeMatch(std::string node_name, bool all_nodes, const api::NodeSelector* selector)
    : node_name_(std::move(node_name)), all_nodes_(all_nodes), has_selector_(selector != nullptr) {
  if (selector == nullptr) return;
  std::vector<std::string> errors;
  for (std::size_t i = 0; i < selector->terms.size(); ++i) {
    const api::NodeSelectorTerm& term = selector->terms[i];
    if (term.empty()) continue;  // matches no node
    Term& parsed = terms_.emplace_back();
    for (std::size_t j = 0; j < term.match_expressions.size(); ++j) {
      const std::string path = fmt::format("nodeSelectorTerms[{}].matchExpressions[{}]", i, j);
      if (auto requirement = api::ParseNodeRequirement(term.match_expressions[j], path, &errors))
        parsed.labels.push_back(*std::move(requirement));
    }
    for (std::size_t j = 0; j < term.match_fields.size(); ++j) {
      const std::string path = fmt::format("nodeSelectorTerms[{}].matchFields[{}]", i, j);
      if (auto requirement = api::ParseFieldRequirement(term.match_fields[j], path, &errors))
        parsed.fields.push_back(*std::move(requirement));
    }
  }
  error_ = api::JoinErrors(errors);
}

Expected<bool> NodeMatch::Matches(const api::Node& node) const {
  if (!node_name_.empty()) return node.metadata.name == node_name_;
  if (all_nodes_) return true;
  if (!has_selector_) return false;
  if (!error_.empty()) return Invalid("failed to parse node selector: " + error_);
  return std::ranges::any_of(terms_, [&](const Term& term) {
    return std::ranges::all_of(term.labels,
                               [&](const api::Requirement& requirement) {
                                 return requirement.Matches(node.metadata.labels.Find(requirement.key));
                               }) &&
           std::ranges::all_of(term.fields, [&](const api::Requirement& requirement) {
             return requirement.Matches(requirement.key == "metadata.name" ? &node.metadata.name : nullptr);
           });
  });
}

}  // namespace berth::devices
