#include "sandbox/controllers/node_selector.hpp"

#include <algorithm>

#include "kubernetes/api/selectors.hpp"
#include "sandbox/controllers/fields.hpp"

namespace berth::sandbox {
namespace {

api::NodeSelectorRequirement Read(const json::object& in) {
  api::NodeSelectorRequirement requirement;
  requirement.key = FindString(in, "key");
  requirement.op = FindString(in, "operator");
  for (const json::value& value : ArrayOrEmpty(in, "values")) {
    if (value.is_string()) requirement.values.emplace_back(value.get_string());
  }
  return requirement;
}

// An invalid requirement matches nothing.
bool MatchesLabel(const api::NodeSelectorRequirement& requirement, const Object& node) {
  const auto parsed = api::ParseNodeRequirement(requirement, "", nullptr);
  return parsed && parsed->Matches(node.Label(requirement.key));
}
bool MatchesField(const api::NodeSelectorRequirement& requirement, const Object& node) {
  const auto parsed = api::ParseFieldRequirement(requirement, "", nullptr);
  return parsed && requirement.key == "metadata.name" && parsed->Matches(&node.name);
}

bool MatchesTerm(const json::object& term, const Object& node) {
  const auto& expressions = ArrayOrEmpty(term, "matchExpressions");
  const auto& fields = ArrayOrEmpty(term, "matchFields");
  if (expressions.empty() && fields.empty()) return false;
  const auto all = [&](const json::array& requirements, const auto& matches) {
    return std::ranges::all_of(requirements, [&](const json::value& value) {
      return value.is_object() && matches(Read(value.get_object()), node);
    });
  };
  return all(expressions, MatchesLabel) && all(fields, MatchesField);
}

}  // namespace

bool MatchesNodeSelector(const json::object& selector, const Object& node) {
  return std::ranges::any_of(ArrayOrEmpty(selector, "nodeSelectorTerms"), [&](const json::value& term) {
    return term.is_object() && MatchesTerm(term.get_object(), node);
  });
}

bool MatchesNodeAffinity(const json::object& pod_spec, const Object& node) {
  for (const auto& wanted : ObjectOrEmpty(pod_spec, "nodeSelector")) {
    const std::string* value = node.Label(wanted.key());
    if (value == nullptr || !wanted.value().is_string() || *value != wanted.value().get_string())
      return false;
  }
  const json::object* required =
      FindObject(pod_spec, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution");
  return required == nullptr || MatchesNodeSelector(*required, node);
}

bool ToleratesTaint(const json::array& tolerations, const json::object& taint) {
  return std::ranges::any_of(tolerations, [&](const json::value& value) {
    if (!value.is_object()) return false;
    const auto& toleration = value.get_object();
    const auto effect = FindString(toleration, "effect");
    const auto key = FindString(toleration, "key");
    if (!effect.empty() && effect != FindString(taint, "effect")) return false;
    if (!key.empty() && key != FindString(taint, "key")) return false;
    const auto op = FindString(toleration, "operator");
    if (op == "Exists") return true;
    const auto left = FindString(taint, "value"), right = FindString(toleration, "value");
    if (op.empty() || op == "Equal") return left == right;
    const auto a = api::LabelAsInteger(left), b = api::LabelAsInteger(right);
    return a && b && (op == "Gt" ? *a > *b : op == "Lt" && *a < *b);
  });
}

}  // namespace berth::sandbox
