#include "sandbox/controllers/node_selector.hpp"

#include <algorithm>
#include <charconv>

#include "sandbox/controllers/fields.hpp"

namespace berth::sandbox {
namespace {

std::optional<std::int64_t> Number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool Satisfies(const json::object& requirement, const std::string* value) {
  const auto op = FindString(requirement, "operator");
  const auto& values = ArrayOrEmpty(requirement, "values");
  const auto contains = [&] {
    return value != nullptr && std::ranges::any_of(values, [&](const json::value& v) {
             return v.is_string() && *value == v.get_string();
           });
  };
  if (op == "In") return contains();
  if (op == "NotIn") return !contains();
  if (op == "Exists") return value != nullptr;
  if (op == "DoesNotExist") return value == nullptr;
  if ((op != "Gt" && op != "Lt") || value == nullptr || values.size() != 1 || !values[0].is_string())
    return false;
  const auto left = Number(*value), right = Number(values[0].get_string());
  return left && right && (op == "Gt" ? *left > *right : *left < *right);
}

bool MatchesTerm(const json::object& term, const Object& node) {
  const auto& expressions = ArrayOrEmpty(term, "matchExpressions");
  const auto& fields = ArrayOrEmpty(term, "matchFields");
  if (expressions.empty() && fields.empty()) return false;
  const auto all = [&](const json::array& requirements, bool by_field) {
    return std::ranges::all_of(requirements, [&](const json::value& value) {
      if (!value.is_object()) return false;
      const auto key = FindString(value.get_object(), "key");
      if (!by_field) return Satisfies(value.get_object(), node.Label(key));
      return key == "metadata.name" && Satisfies(value.get_object(), &node.name);
    });
  };
  return all(expressions, false) && all(fields, true);
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
    const auto a = Number(left), b = Number(right);
    return a && b && (op == "Gt" ? *a > *b : op == "Lt" && *a < *b);
  });
}

}  // namespace berth::sandbox
