#include "sandbox/store/selector.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kubernetes/api/label_selector_text.hpp"

namespace berth::sandbox {
namespace {

api::LabelSelectorRequirement Requirement(const json::object& expression) {
  api::LabelSelectorRequirement requirement;
  requirement.key = FindString(expression, "key");
  requirement.op = FindString(expression, "operator");
  const json::array* values = FindArray(expression, "values");
  for (const auto& value : values != nullptr ? *values : json::array()) {
    if (value.is_string()) requirement.values.emplace_back(value.get_string());
  }
  return requirement;
}

}  // namespace

Expected<LabelSelector> LabelSelector::Parse(std::string_view text) {
  LabelSelector result;
  BERTH_TRY(result.parsed_, api::ParseLabelSelectorText(text));
  return result;
}

Expected<LabelSelector> LabelSelector::FromObject(const json::object& selector) {
  api::LabelSelector raw;
  if (const json::object* labels = FindObject(selector, "matchLabels")) {
    for (const auto& entry : *labels) {
      if (!entry.value().is_string()) return Invalid("matchLabels: the values must be strings");
      raw.match_labels.Set(std::string(entry.key()), std::string(entry.value().get_string()));
    }
  }
  const json::array* expressions = FindArray(selector, "matchExpressions");
  for (const auto& expression : expressions != nullptr ? *expressions : json::array()) {
    if (!expression.is_object()) return Invalid("matchExpressions: the elements must be objects");
    raw.match_expressions.push_back(Requirement(expression.get_object()));
  }
  LabelSelector result;
  BERTH_TRY(result.parsed_, api::ParseLabelSelector(&raw));
  return result;
}

bool LabelSelector::Matches(const Object& object) const {
  return std::ranges::all_of(parsed_.requirements,
                             [&](const api::Requirement& r) { return r.Matches(object.Label(r.key)); });
}

std::string LabelSelector::ToString() const { return api::LabelSelectorText(parsed_); }

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
