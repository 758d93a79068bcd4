#include "kubernetes/api/label_selector.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::api {
namespace {

// Validates one requirement like a node selector's; only the field path is unknown here.
Expected<Requirement> Checked(const std::string& key, std::string_view op,
                              const std::vector<std::string>& values) {
  std::vector<std::string> errors;
  auto parsed = ParseNodeRequirement({key, std::string(op), values}, "", &errors);
  if (parsed) return *std::move(parsed);
  return Invalid(JoinErrors(errors));
}

}  // namespace

bool ParsedSelector::Matches(const Labels& labels) const {
  return !nothing && std::ranges::all_of(requirements, [&](const Requirement& requirement) {
    return requirement.Matches(labels.Find(requirement.key));
  });
}

void ParsedSelector::RequireEqual(const std::string& key, const std::string& value) {
  if (!nothing) requirements.push_back({key, SelectorOp::kIn, {value}, 0});
}

std::string ParsedSelector::Text() const {
  if (nothing) return "-";
  std::string text;
  for (const Requirement& requirement : requirements) {
    text += fmt::format("{}:{}{}", requirement.key.size(), requirement.key, static_cast<int>(requirement.op));
    for (const std::string& value : requirement.values) text += fmt::format("={}:{}", value.size(), value);
    text += ';';
  }
  return text;
}

Expected<ParsedSelector> ParseLabelSelector(const LabelSelector* selector) {
  if (selector == nullptr) return ParsedSelector::Nothing();
  ParsedSelector parsed;
  for (const auto& [key, value] : selector->match_labels) {
    BERTH_TRY(parsed.requirements.emplace_back(), Checked(key, "In", {value}));
  }
  for (const LabelSelectorRequirement& expression : selector->match_expressions) {
    if (expression.op == "Gt" || expression.op == "Lt" ||
        !std::ranges::any_of(std::initializer_list<std::string_view>{"In", "NotIn", "Exists", "DoesNotExist"},
                             [&](std::string_view known) { return known == expression.op; })) {
      return Invalid(fmt::format("\"{}\" is not a valid label selector operator", expression.op));
    }
    BERTH_TRY(parsed.requirements.emplace_back(), Checked(expression.key, expression.op, expression.values));
  }
  return parsed;
}

ParsedSelector SelectorOfLabels(const Labels& labels) {
  ParsedSelector selector;
  for (const auto& [key, value] : labels) selector.RequireEqual(key, value);
  return selector;
}

}  // namespace berth::api
