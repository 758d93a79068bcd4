#include "kubernetes/api/selectors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"
#include "base/go_quote.hpp"
#include "base/json_text.hpp"

namespace berth::api {
namespace {

constexpr std::size_t kNameMax = 63;
constexpr std::size_t kSubdomainMax = 253;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsAlphanumeric(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z') || IsAsciiDigit(c); }

// Alphanumeric at both ends, '-', '_', '.' inside.
bool IsNameText(std::string_view text) {
  if (text.empty() || !IsAlphanumeric(text.front()) || !IsAlphanumeric(text.back())) return false;
  return std::ranges::all_of(text,
                             [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool IsSubdomain(std::string_view text) {
  if (text.empty()) return false;
  std::size_t start = 0;
  while (true) {
    const std::size_t dot = std::min(text.find('.', start), text.size());
    const std::string_view part = text.substr(start, dot - start);
    const auto edge = [](char c) { return IsLower(c) || IsAsciiDigit(c); };
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

// A list of values as JSON; an empty one is null, since the API does not distinguish empty from absent.
std::string ValueList(const NodeSelectorRequirement& requirement) {
  if (requirement.values.empty()) return "null";
  std::string out;
  for (const std::string& value : requirement.values) out += (out.empty() ? "" : ",") + GoJsonString(value);
  return "[" + out + "]";
}

std::string RegexText(std::string_view what, std::string_view examples, std::string_view regex) {
  return fmt::format("{} (e.g. {}, regex used for validation is '{}')", what, examples, regex);
}

constexpr const char* kNameRegex = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr const char* kNameRule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character";

// The path of a field; `path`, of the object, may be empty.
std::string Below(std::string_view path, std::string_view field) {
  return path.empty() ? std::string(field) : fmt::format("{}.{}", path, field);
}

void CheckValueCount(SelectorOp op, const NodeSelectorRequirement& requirement, std::string_view path,
                     std::vector<std::string>& errors) {
  const auto invalid = [&](std::string_view detail) {
    errors.push_back(
        fmt::format("{}: Invalid value: {}: {}", Below(path, "values"), ValueList(requirement), detail));
  };
  switch (op) {
    case SelectorOp::kIn:
    case SelectorOp::kNotIn:
      if (requirement.values.empty()) invalid("for 'in', 'notin' operators, values set can't be empty");
      return;
    case SelectorOp::kExists:
    case SelectorOp::kDoesNotExist:
      if (!requirement.values.empty()) invalid("values set must be empty for exists and does not exist");
      return;
    case SelectorOp::kGt:
    case SelectorOp::kLt:
      if (requirement.values.size() != 1) invalid("for 'Gt', 'Lt' operators, exactly one value is required");
      for (std::size_t i = 0; i < requirement.values.size(); ++i) {
        if (LabelAsInteger(requirement.values[i])) continue;
        errors.push_back(
            fmt::format("{}[{}]: Invalid value: {}: for 'Gt', 'Lt' operators, the value must be an integer",
                        Below(path, "values"), i, GoQuote(requirement.values[i])));
      }
      return;
  }
}

}  // namespace

bool Requirement::Matches(const std::string* value) const {
  switch (op) {
    case SelectorOp::kIn:
      return value != nullptr && std::ranges::find(values, *value) != values.end();
    case SelectorOp::kNotIn:
      return value == nullptr || std::ranges::find(values, *value) == values.end();
    case SelectorOp::kExists:
      return value != nullptr;
    case SelectorOp::kDoesNotExist:
      return value == nullptr;
    case SelectorOp::kGt:
    case SelectorOp::kLt: {
      if (value == nullptr) return false;
      const auto number = LabelAsInteger(*value);
      return number && (op == SelectorOp::kGt ? *number > bound : *number < bound);
    }
  }
  return false;
}

std::optional<Requirement> ParseNodeRequirement(const NodeSelectorRequirement& requirement,
                                                std::string_view path, std::vector<std::string>* errors) {
  std::vector<std::string> found;
  const auto op = NodeOperator(requirement.op);
  if (!op) {
    found.push_back(
        fmt::format("{}: Unsupported value: {}: supported values: \"In\", \"NotIn\", \"Exists\", "
                    "\"DoesNotExist\", \"Gt\", \"Lt\"",
                    Below(path, "operator"), GoQuote(requirement.op)));
  } else {
    if (auto wrong = CheckLabelKey(requirement.key); !wrong.empty()) {
      found.push_back(
          fmt::format("{}: Invalid value: {}: {}", Below(path, "key"), GoQuote(requirement.key), wrong));
    }
    CheckValueCount(*op, requirement, path, found);
    for (std::size_t i = 0; i < requirement.values.size(); ++i) {
      if (auto wrong = CheckLabelValue(requirement.values[i]); !wrong.empty()) {
        found.push_back(fmt::format("{}[{}][{}]: Invalid value: {}: {}", Below(path, "values"), i,
                                    requirement.key, GoQuote(requirement.values[i]), wrong));
      }
    }
  }
  if (!found.empty()) {
    if (errors != nullptr) errors->insert(errors->end(), found.begin(), found.end());
    return std::nullopt;
  }
  const bool compares = *op == SelectorOp::kGt || *op == SelectorOp::kLt;
  return Requirement{requirement.key, *op, requirement.values,
                     compares ? *LabelAsInteger(requirement.values.front()) : 0};
}

std::optional<Requirement> ParseFieldRequirement(const NodeSelectorRequirement& requirement,
                                                 std::string_view path, std::vector<std::string>* errors) {
  const auto op = NodeOperator(requirement.op);
  std::string wrong;
  if (op != SelectorOp::kIn && op != SelectorOp::kNotIn) {
    wrong = fmt::format("{}.operator: Unsupported value: {}: supported values: \"In\", \"NotIn\"", path,
                        GoQuote(requirement.op));
  } else if (requirement.values.size() != 1) {
    wrong = fmt::format("{}.values: Invalid value: {}: must have one element", path, ValueList(requirement));
  }
  if (!wrong.empty()) {
    if (errors != nullptr) errors->push_back(std::move(wrong));
    return std::nullopt;
  }
  return Requirement{requirement.key, *op, requirement.values, 0};
}

std::string JoinErrors(const std::vector<std::string>& errors) {
  std::string joined;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (std::find(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(i), errors[i]) !=
        errors.begin() + static_cast<std::ptrdiff_t>(i)) {
      continue;
    }
    joined += (shown++ == 0 ? "" : ", ") + errors[i];
  }
  return shown > 1 ? "[" + joined + "]" : joined;
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
  std::vector<std::string> wrong;
  if (value.size() > kNameMax) wrong.push_back("must be no more than 63 bytes");
  if (!value.empty() && !IsNameText(value)) {
    wrong.push_back(RegexText(
        std::string("a valid label must be an empty string or consist of alphanumeric characters, '-', "
                    "'_' or '.', and must start and end with an alphanumeric character"),
        "'MyValue',  or 'my_value',  or '12345'", fmt::format("({})?", kNameRegex)));
  }
  return fmt::format("{}", fmt::join(wrong, "; "));
}

std::string CheckLabelKey(std::string_view key) {
  const auto name_rule = [](std::string_view prefix) {
    return RegexText(fmt::format("{}{}", prefix, kNameRule), "'MyName',  or 'my.name',  or '123-abc'",
                     kNameRegex);
  };
  const std::size_t slash = key.find('/');
  if (slash != std::string_view::npos && key.find('/', slash + 1) != std::string_view::npos) {
    return name_rule("a valid label key ") +
           " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
  }
  std::vector<std::string> wrong;
  std::string_view name = key;
  if (slash != std::string_view::npos) {
    const std::string_view prefix = key.substr(0, slash);
    name = key.substr(slash + 1);
    if (prefix.empty()) wrong.push_back("prefix part must be non-empty");
    if (prefix.size() > kSubdomainMax) wrong.push_back("prefix part must be no more than 253 bytes");
    if (!prefix.empty() && !IsSubdomain(prefix)) {
      wrong.push_back(RegexText(
          "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
          "'-' or '.', and must start and end with an alphanumeric character",
          "'example.com'", "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"));
    }
  }
  if (name.empty()) wrong.push_back("name part must be non-empty");
  if (name.size() > kNameMax) wrong.push_back("name part must be no more than 63 bytes");
  if (!IsNameText(name)) wrong.push_back(name_rule("name part "));
  return fmt::format("{}", fmt::join(wrong, "; "));
}

bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op.empty() || toleration.op == "Equal") return toleration.value == taint.value;
  return toleration.op == "Exists";
}

bool TaintStopsScheduling(const Taint& taint) {
  return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
}

}  // namespace berth::api
