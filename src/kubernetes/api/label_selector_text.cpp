#include "kubernetes/api/label_selector_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace berth::api {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  Expected<ParsedSelector> Parse() {
    ParsedSelector selector;
    SkipSpace();
    while (!rest_.empty()) {
      BERTH_TRY(selector.requirements.emplace_back(), ParseRequirement());
      SkipSpace();
      if (rest_.empty()) break;
      if (!Take(",")) return Unexpected("',' or 'end of string'");
      SkipSpace();
      if (rest_.empty()) return Unexpected("identifier after ','");
    }
    return selector;
  }

 private:
  Expected<Requirement> ParseRequirement() {
    const bool absent = Take("!");
    SkipSpace();
    NodeSelectorRequirement raw{.key = Word(), .op = absent ? "DoesNotExist" : "Exists", .values = {}};
    if (raw.key.empty()) return Unexpected("!, identifier, or 'end of string'");
    SkipSpace();
    // A key alone must exist.
    if (!absent && !rest_.empty() && rest_.front() != ',') BERTH_RETURN_IF_ERROR(ParseOperator(raw));
    std::vector<std::string> errors;
    if (auto parsed = ParseNodeRequirement(raw, "", &errors)) return *std::move(parsed);
    return Failed(JoinErrors(errors));
  }

  Expected<void> ParseOperator(NodeSelectorRequirement& raw) {
    if (Take("==") || Take("=")) return Single(raw, "In");
    if (Take("!=")) return Single(raw, "NotIn");
    if (Take(">")) return Single(raw, "Gt");
    if (Take("<")) return Single(raw, "Lt");
    const std::string word = Word();
    if (word == "in") return Set(raw, "In");
    if (word == "notin") return Set(raw, "NotIn");
    return Failed(fmt::format("found '{}', expected: in, notin, =, ==, !=, gt, lt", word));
  }

  Expected<void> Single(NodeSelectorRequirement& raw, std::string_view op) {
    SkipSpace();
    raw.op = op;
    raw.values = {Word()};
    return {};
  }

  Expected<void> Set(NodeSelectorRequirement& raw, std::string_view op) {
    raw.op = op;
    SkipSpace();
    if (!Take("(")) return Unexpected("'('");
    for (;;) {
      SkipSpace();
      raw.values.push_back(Word());
      SkipSpace();
      if (Take(")")) return {};
      if (!Take(",")) return Unexpected("',' or ')'");
    }
  }

  static std::unexpected<Error> Failed(std::string_view why) {
    return Invalid(fmt::format("unable to parse requirement: {}", why));
  }
  std::unexpected<Error> Unexpected(std::string_view wanted) const {
    return Failed(fmt::format("found '{}', expected: {}", rest_.substr(0, 20), wanted));
  }
  void SkipSpace() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) rest_.remove_prefix(1);
  }
  bool Take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  std::string Word() {
    const auto end = std::min(rest_.find_first_of(" \t,=!()<>"), rest_.size());
    std::string word(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return word;
  }

  std::string_view rest_;
};

std::string RequirementText(const Requirement& requirement) {
  const auto& [key, op, values, bound] = requirement;
  switch (op) {
    case SelectorOp::kIn:
      if (values.size() == 1) return key + "=" + values[0];
      return fmt::format("{} in ({})", key, fmt::join(values, ","));
    case SelectorOp::kNotIn:
      return fmt::format("{} notin ({})", key, fmt::join(values, ","));
    case SelectorOp::kExists:
      return key;
    case SelectorOp::kDoesNotExist:
      return "!" + key;
    case SelectorOp::kGt:
      return key + ">" + values[0];
    case SelectorOp::kLt:
      return key + "<" + values[0];
  }
  return key;
}

}  // namespace

Expected<ParsedSelector> ParseLabelSelectorText(std::string_view text) { return Parser(text).Parse(); }

std::string LabelSelectorText(const ParsedSelector& selector) {
  std::string text;
  for (const Requirement& requirement : selector.requirements) {
    if (!text.empty()) text += ',';
    text += RequirementText(requirement);
  }
  return text;
}

}  // namespace berth::api
