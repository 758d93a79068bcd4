#include "sandbox/store/selector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace berth::sandbox {
namespace {

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// A label's name or value: up to 63 of [A-Za-z0-9_.-], alphanumeric at both ends.
bool IsLabelWord(std::string_view word) {
  if (word.empty() || word.size() > 63 || !IsAlphanumeric(word.front()) || !IsAlphanumeric(word.back()))
    return false;
  return std::ranges::all_of(word,
                             [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool IsLabelKey(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return IsLabelWord(key);
  const auto prefix = key.substr(0, slash);
  const bool good_prefix = !prefix.empty() && prefix.size() <= 253 && std::ranges::all_of(prefix, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
  return good_prefix && IsLabelWord(key.substr(slash + 1));
}

std::optional<std::int64_t> Integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

// The grammar of labels.Parse in k8s.io/apimachinery.
class LabelSelectorParser {
 public:
  using Operator = LabelSelector::Operator;
  explicit LabelSelectorParser(std::string_view text) : rest_(text) {}

  Expected<LabelSelector> Parse() {
    LabelSelector selector;
    SkipSpace();
    while (!rest_.empty()) {
      BERTH_TRY(auto requirement, ParseRequirement());
      selector.requirements_.push_back(std::move(requirement));
      SkipSpace();
      if (rest_.empty()) break;
      if (!Take(",")) return Unexpected("',' or 'end of string'");
      SkipSpace();
      if (rest_.empty()) return Unexpected("identifier after ','");
    }
    return selector;
  }

 private:
  Expected<LabelSelector::Requirement> ParseRequirement() {
    LabelSelector::Requirement result;
    const bool absent = Take("!");
    SkipSpace();
    result.key = Word();
    if (result.key.empty()) return Unexpected("!, identifier, or 'end of string'");
    if (!IsLabelKey(result.key)) {
      return Invalid(
          fmt::format("unable to parse requirement: key: Invalid value: \"{}\": name part must consist of "
                      "alphanumeric characters, '-', '_' or '.', and must start and end with an "
                      "alphanumeric character",
                      result.key));
    }
    SkipSpace();
    if (absent) {
      result.op = Operator::kDoesNotExist;
      return result;
    }
    if (rest_.empty() || rest_.front() == ',') return result;  // the key alone: it must exist
    BERTH_RETURN_IF_ERROR(ParseOperator(result));
    for (const auto& value : result.values) {
      if (!value.empty() && !IsLabelWord(value)) {
        return Invalid(fmt::format(
            "unable to parse requirement: values[0][{}]: Invalid value: \"{}\": a valid label "
            "must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
            "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
            "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            result.key, value));
      }
    }
    return result;
  }

  Expected<void> ParseOperator(LabelSelector::Requirement& result) {
    if (Take("==") || Take("=")) return Single(result, Operator::kIn);
    if (Take("!=")) return Single(result, Operator::kNotIn);
    if (Take(">")) return Bound(result, Operator::kGreater);
    if (Take("<")) return Bound(result, Operator::kLess);
    const std::string word = Word();
    if (word == "in") return Set(result, Operator::kIn);
    if (word == "notin") return Set(result, Operator::kNotIn);
    return Invalid(
        fmt::format("unable to parse requirement: found '{}', expected: in, notin, =, ==, !=, gt, lt", word));
  }

  Expected<void> Single(LabelSelector::Requirement& result, Operator op) {
    SkipSpace();
    result.op = op;
    result.values = {Word()};
    return {};
  }

  Expected<void> Bound(LabelSelector::Requirement& result, Operator op) {
    BERTH_RETURN_IF_ERROR(Single(result, op));
    if (!Integer(result.values[0])) {
      return Invalid(
          fmt::format("unable to parse requirement: values[0]: Invalid value: \"{}\": for 'Gt', 'Lt' "
                      "operators, the value must be an integer",
                      result.values[0]));
    }
    return {};
  }

  Expected<void> Set(LabelSelector::Requirement& result, Operator op) {
    result.op = op;
    SkipSpace();
    if (!Take("(")) return Unexpected("'('");
    for (;;) {
      SkipSpace();
      result.values.push_back(Word());
      SkipSpace();
      if (Take(")")) return {};
      if (!Take(",")) return Unexpected("',' or ')'");
    }
  }

  std::unexpected<Error> Unexpected(std::string_view wanted) const {
    return Invalid(
        fmt::format("unable to parse requirement: found '{}', expected: {}", rest_.substr(0, 20), wanted));
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

Expected<LabelSelector> LabelSelector::Parse(std::string_view text) {
  return LabelSelectorParser(text).Parse();
}

Expected<LabelSelector> LabelSelector::FromObject(const json::object& selector) {
  LabelSelector result;
  if (const json::object* labels = FindObject(selector, "matchLabels")) {
    for (const auto& entry : *labels) {
      if (!entry.value().is_string()) return Invalid("matchLabels: the values must be strings");
      result.requirements_.push_back(
          {std::string(entry.key()), Operator::kIn, {std::string(entry.value().get_string())}});
    }
  }
  const json::array* expressions = FindArray(selector, "matchExpressions");
  for (const auto& expression : expressions != nullptr ? *expressions : json::array()) {
    if (!expression.is_object()) return Invalid("matchExpressions: the elements must be objects");
    Requirement requirement;
    requirement.key = FindString(expression.get_object(), "key");
    const auto op = FindString(expression.get_object(), "operator");
    if (op == "In")
      requirement.op = Operator::kIn;
    else if (op == "NotIn")
      requirement.op = Operator::kNotIn;
    else if (op == "Exists")
      requirement.op = Operator::kExists;
    else if (op == "DoesNotExist")
      requirement.op = Operator::kDoesNotExist;
    else
      return Invalid(fmt::format("\"{}\" is not a valid label selector operator", op));
    const json::array* values = FindArray(expression.get_object(), "values");
    for (const auto& value : values != nullptr ? *values : json::array()) {
      if (value.is_string()) requirement.values.emplace_back(value.get_string());
    }
    result.requirements_.push_back(std::move(requirement));
  }
  return result;
}

bool LabelSelector::Requirement::Matches(const std::string* value) const {
  switch (op) {
    case Operator::kIn:
      return value != nullptr && std::ranges::find(values, *value) != values.end();
    case Operator::kNotIn:
      return value == nullptr || std::ranges::find(values, *value) == values.end();
    case Operator::kExists:
      return value != nullptr;
    case Operator::kDoesNotExist:
      return value == nullptr;
    case Operator::kGreater:
    case Operator::kLess:
      break;
  }
  if (value == nullptr) return false;
  const auto have = Integer(*value);
  const auto bound = Integer(values[0]);
  return have && bound && (op == Operator::kGreater ? *have > *bound : *have < *bound);
}

bool LabelSelector::Matches(const Object& object) const {
  return std::ranges::all_of(requirements_,
                             [&](const Requirement& r) { return r.Matches(object.Label(r.key)); });
}

std::string LabelSelector::ToString() const {
  std::string text;
  for (const auto& requirement : requirements_) {
    if (!text.empty()) text += ',';
    const auto& values = requirement.values;
    switch (requirement.op) {
      case Operator::kIn:
        text += values.size() == 1 ? requirement.key + "=" + values[0]
                                   : fmt::format("{} in ({})", requirement.key, fmt::join(values, ","));
        break;
      case Operator::kNotIn:
        text += fmt::format("{} notin ({})", requirement.key, fmt::join(values, ","));
        break;
      case Operator::kExists:
        text += requirement.key;
        break;
      case Operator::kDoesNotExist:
        text += "!" + requirement.key;
        break;
      case Operator::kGreater:
        text += requirement.key + ">" + values[0];
        break;
      case Operator::kLess:
        text += requirement.key + "<" + values[0];
        break;
    }
  }
  return text;
}

// --- fields ---

namespace {

struct RawTerm {
  std::string field;
  bool equal = true;
  std::string value;
};

// One term of a field selector, up to the next unescaped comma.
Expected<RawTerm> ParseTerm(std::string_view term, std::string_view whole) {
  const auto cannot = [&] {
    return Invalid(fmt::format("invalid selector: '{}'; can't understand '{}'", whole, term));
  };
  RawTerm result;
  const auto at = term.find('=');
  if (at == std::string_view::npos || at == 0) return cannot();
  std::size_t field_end = at;
  std::size_t value_begin = at + 1;
  if (term[at - 1] == '!') {
    result.equal = false;
    field_end = at - 1;
  } else if (value_begin < term.size() && term[value_begin] == '=') {
    ++value_begin;
  }
  result.field = term.substr(0, field_end);
  for (std::size_t i = value_begin; i < term.size(); ++i) {
    if (term[i] == '=') return cannot();
    if (term[i] == '\\') {
      if (++i == term.size() || (term[i] != ',' && term[i] != '=' && term[i] != '\\')) return cannot();
    }
    result.value += term[i];
  }
  return result;
}

std::size_t TermEnd(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == ',')
      return i;
  }
  return text.size();
}

// The core group's name of an events.k8s.io field.
std::string CoreEventField(std::string field) {
  if (field.starts_with("regarding.")) return "involvedObject." + field.substr(10);
  if (field == "reportingController") return "reportingComponent";
  return field;
}

std::unexpected<Error> UnknownField(const ResourceType& type, std::string_view field) {
  if (!type.fields.empty()) return Invalid(fmt::format("field label not supported: {}", field));
  return Invalid(fmt::format("\"{}\" is not a known field selector: only \"metadata.name\"{}", field,
                             type.namespaced ? ", \"metadata.namespace\"" : ""));
}

}  // namespace

Expected<FieldSelector> FieldSelector::Parse(const ResourceType& type, std::string_view text,
                                             bool as_events_group) {
  FieldSelector selector;
  const std::string_view whole = text;
  while (!text.empty()) {
    const std::size_t end = TermEnd(text);
    const auto piece = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (piece.empty()) continue;
    BERTH_TRY(const RawTerm raw, ParseTerm(piece, whole));
    std::string field = as_events_group ? CoreEventField(raw.field) : raw.field;
    if (field == "spec.host" && type.plural == "pods") field = "spec.nodeName";  // the legacy name
    Term term{.field = 0, .equal = raw.equal, .value = raw.value};
    bool known = false;
    if (field == "metadata.name") {
      term.field = kName;
      known = true;
    } else if (field == "metadata.namespace" && type.namespaced) {
      term.field = kNamespace;
      known = true;
    } else {
      int index = 0;
      ForEachOf(type.fields, [&](std::string_view name) {
        if (name == field) {
          term.field = index;
          known = true;
        }
        ++index;
      });
    }
    if (!known) return UnknownField(type, raw.field);
    selector.terms_.push_back(std::move(term));
  }
  return selector;
}

bool FieldSelector::Matches(const Object& object) const {
  return std::ranges::all_of(terms_, [&](const Term& term) {
    const std::string& value = term.field == kName ? object.name
                               : term.field == kNamespace
                                   ? object.ns
                                   : object.fields[static_cast<std::size_t>(term.field)];
    return (value == term.value) == term.equal;
  });
}

}  // namespace berth::sandbox
