#include "api/selectors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace berth::api {
namespace {

constexpr std::size_t kNameMax = 63;
constexpr std::size_t kSubdomainMax = 253;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsAlphanumeric(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z') || IsDigit(c); }

// Alphanumeric at both ends, '-', '_', '.' inside.
bool IsNameText(std::string_view text) {
  if (text.empty() || !IsAlphanumeric(text.front()) || !IsAlphanumeric(text.back())) return false;
  return std::ranges::all_of(text, [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool IsSubdomain(std::string_view text) {
  if (text.empty() || text.size() > kSubdomainMax) return false;
  std::size_t start = 0;
  while (true) {
    const std::size_t dot = std::min(text.find('.', start), text.size());
    const std::string_view part = text.substr(start, dot - start);
    const auto edge = [](char c) { return IsLower(c) || IsDigit(c); };
    if (part.empty() || !edge(part.front()) || !edge(part.back())) return false;
    if (!std::ranges::all_of(part, [&](char c) { return edge(c) || c == '-'; })) return false;
    if (dot == text.size()) return true;
    start = dot + 1;
  }
}

std::optional<SelectorOp> NodeOperator(std::string_view op) {
  if (op == "In") return SelectorOp::kIn;
  if (op == "NotIn") return SelectorOp::kNotIn;
  if (op == "Exists") return SelectorOp::kExists;
  if (op == "DoesNotExist") return SelectorOp::kDoesNotExist;
  if (op == "Gt") return SelectorOp::kGt;
  if (op == "Lt") return SelectorOp::kLt;
  return std::nullopt;
}

// Empty, or why this number of values does not go with the operator.
std::string CheckValueCount(SelectorOp op, const std::vector<std::string>& values) {
  switch (op) {
    case SelectorOp::kIn:
    case SelectorOp::kNotIn:
      return values.empty() ? "for 'in', 'notin' operators, values set can't be empty" : "";
    case SelectorOp::kExists:
    case SelectorOp::kDoesNotExist:
      return values.empty() ? "" : "values set must be empty for exists and does not exist";
    case SelectorOp::kGt:
    case SelectorOp::kLt:
      return values.size() == 1 ? "" : "for 'Gt', 'Lt' operators, exactly one value is required";
  }
  return "";
}

}  // namespace

bool Requirement::Matches(const std::string* value) const {
  switch (op) {
    case SelectorOp::kIn: return value != nullptr && std::ranges::find(values, *value) != values.end();
    case SelectorOp::kNotIn: return value == nullptr || std::ranges::find(values, *value) == values.end();
    case SelectorOp::kExists: return value != nullptr;
    case SelectorOp::kDoesNotExist: return value == nullptr;
    case SelectorOp::kGt:
    case SelectorOp::kLt: {
      if (value == nullptr) return false;
      const auto number = LabelAsInteger(*value);
      return number && (op == SelectorOp::kGt ? *number > bound : *number < bound);
    }
  }
  return false;
}

Expected<Requirement> ParseNodeRequirement(const NodeSelectorRequirement& requirement) {
  const auto op = NodeOperator(requirement.op);
  if (!op) {
    return Invalid(fmt::format("operator: Unsupported value: \"{}\": supported values: \"In\", \"NotIn\", \"Exists\", "
                               "\"DoesNotExist\", \"Gt\", \"Lt\"",
                               requirement.op));
  }
  if (auto wrong = CheckQualifiedName(requirement.key); !wrong.empty()) {
    return Invalid(fmt::format("key: Invalid value: \"{}\": {}", requirement.key, wrong));
  }
  if (auto wrong = CheckValueCount(*op, requirement.values); !wrong.empty()) {
    return Invalid("values: Invalid value: " + wrong);
  }
  Requirement result{requirement.key, *op, requirement.values, 0};
  if (*op == SelectorOp::kGt || *op == SelectorOp::kLt) {
    const auto bound = LabelAsInteger(requirement.values.front());
    if (!bound) return Invalid("for 'Gt', 'Lt' operators, the value must be an integer");
    result.bound = *bound;
  }
  for (std::size_t i = 0; i < requirement.values.size(); ++i) {
    if (auto wrong = CheckLabelValue(requirement.values[i]); !wrong.empty()) {
      return Invalid(fmt::format("values[{}][{}]: Invalid value: \"{}\": {}", i, requirement.key,
                                 requirement.values[i], wrong));
    }
  }
  return result;
}

Expected<Requirement> ParseFieldRequirement(const NodeSelectorRequirement& requirement) {
  const auto op = NodeOperator(requirement.op);
  if (op != SelectorOp::kIn && op != SelectorOp::kNotIn) {
    return Invalid(fmt::format("operator: Unsupported value: \"{}\": supported values: \"In\", \"NotIn\"", requirement.op));
  }
  if (requirement.values.size() != 1) return Invalid("values: Invalid value: must have one element");
  return Requirement{requirement.key, *op, requirement.values, 0};
}

std::optional<std::int64_t> LabelAsInteger(std::string_view value) {
  if (!value.empty() && value.front() == '+') {
    value.remove_prefix(1);
    if (!value.empty() && value.front() == '-') return std::nullopt;
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size()) return std::nullopt;
  return number;
}

std::string CheckLabelValue(std::string_view value) {
  if (value.size() > kNameMax) return "must be no more than 63 bytes";
  if (!value.empty() && !IsNameText(value)) {
    return "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
           "start and end with an alphanumeric character";
  }
  return "";
}

std::string CheckQualifiedName(std::string_view name) {
  const std::size_t slash = name.find('/');
  std::string_view rest = name;
  if (slash != std::string_view::npos) {
    if (name.find('/', slash + 1) != std::string_view::npos) return "a qualified name must have at most one '/'";
    if (slash == 0) return "prefix part must be non-empty";
    if (!IsSubdomain(name.substr(0, slash))) return "prefix part must be a lowercase RFC 1123 subdomain";
    rest = name.substr(slash + 1);
  }
  if (rest.empty()) return "name part must be non-empty";
  if (rest.size() > kNameMax) return "name part must be no more than 63 bytes";
  if (!IsNameText(rest)) {
    return "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
           "alphanumeric character";
  }
  return "";
}

bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op.empty() || toleration.op == "Equal") return toleration.value == taint.value;
  return toleration.op == "Exists";
}

bool TaintStopsScheduling(const Taint& taint) { return taint.effect == "NoSchedule" || taint.effect == "NoExecute"; }

}  // namespace berth::api
