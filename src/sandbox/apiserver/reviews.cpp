#include "sandbox/apiserver/reviews.hpp"

namespace berth::sandbox {
namespace {

struct Kind {
  std::string_view plural, kind;
};
constexpr Kind kKinds[] = {{"selfsubjectreviews", "SelfSubjectReview"},
                           {"tokenreviews", "TokenReview"},
                           {"selfsubjectaccessreviews", "SelfSubjectAccessReview"},
                           {"selfsubjectrulesreviews", "SelfSubjectRulesReview"},
                           {"subjectaccessreviews", "SubjectAccessReview"},
                           {"localsubjectaccessreviews", "LocalSubjectAccessReview"}};

json::object Describe(const User& user) {
  json::array groups;
  for (const auto& group : user.groups) groups.push_back(json::value(group));
  return {{"username", user.name}, {"groups", std::move(groups)}};
}

// Deny rules cannot be listed: the response is then marked incomplete.
json::object RulesFor(bool complete) {
  const json::array all{"*"};
  const json::object resource_rule{{"verbs", all}, {"apiGroups", all}, {"resources", all}};
  const json::object path_rule{{"verbs", all}, {"nonResourceURLs", all}};
  return {{"resourceRules", json::array{resource_rule}},
          {"nonResourceRules", json::array{path_rule}},
          {"incomplete", !complete}};
}

std::unexpected<ApiError> InvalidReview(std::string field, std::string_view value, std::string_view why) {
  return InvalidObject("authorization.k8s.io", "", "", {InvalidValue(std::move(field), value, why)});
}

ApiResult<Attributes> AttributesIn(const json::object& spec) {
  const json::object* resource = FindObject(spec, "resourceAttributes");
  const json::object* path = FindObject(spec, "nonResourceAttributes");
  if ((resource == nullptr) == (path == nullptr)) {
    return InvalidReview("spec", "null",
                         "exactly one of nonResourceAttributes or resourceAttributes must be specified");
  }
  Attributes wanted;
  const json::object& from = resource != nullptr ? *resource : *path;
  wanted.verb = FindString(from, "verb");
  wanted.path = FindString(from, "path");
  wanted.group = FindString(from, "group");
  wanted.resource = FindString(from, "resource");
  if (const auto sub = FindString(from, "subresource"); !sub.empty()) wanted.resource.append("/").append(sub);
  wanted.ns = FindString(from, "namespace");
  wanted.name = FindString(from, "name");
  return wanted;
}

json::object Verdict(const Policy* policy, const User& user, const Attributes& wanted) {
  const Decision decision = policy != nullptr ? policy->Decide(user, wanted) : Decision{};
  json::object status{{"allowed", decision.allowed}};
  if (decision.denied) status["denied"] = true;
  if (!decision.reason.empty()) status["reason"] = decision.reason;
  return status;
}

ApiResult<User> SubjectIn(const json::object& spec) {
  User user{std::string(FindString(spec, "user")), {}};
  const json::array* groups = FindArray(spec, "groups");
  if (groups == nullptr) groups = FindArray(spec, "group");
  for (const auto& group : groups != nullptr ? *groups : json::array()) {
    if (group.is_string()) user.groups.emplace_back(group.get_string());
  }
  if (user.name.empty() && user.groups.empty())
    return InvalidReview("spec.user", "\"\"", "at least one of user or group must be specified");
  return user;
}

ApiResult<json::object> ReviewToken(const Policy* policy, const json::object& spec) {
  const auto token = FindString(spec, "token");
  if (token.empty()) return BadRequest("token is required for TokenReview in authentication");
  const auto user = policy != nullptr ? policy->ByToken(token) : std::nullopt;
  if (!user) return json::object{{"user", json::object()}, {"error", "invalid bearer token"}};
  return json::object{{"authenticated", true},
                      {"user", Describe(*user)},
                      {"audiences", json::array{"https://kubernetes.default.svc"}}};
}

ApiResult<json::object> StatusOf(std::string_view kind, const ApiRequest& request, const Policy* policy,
                                 const json::object& spec) {
  if (kind == "SelfSubjectReview") return json::object{{"userInfo", Describe(request.user)}};
  if (kind == "TokenReview") return ReviewToken(policy, spec);
  if (kind == "SelfSubjectRulesReview") {
    return RulesFor(policy == nullptr || request.user.In("system:masters"));
  }
  BERTH_TRY(const Attributes wanted, AttributesIn(spec));
  if (kind == "SelfSubjectAccessReview") return Verdict(policy, request.user, wanted);
  BERTH_TRY(const User subject, SubjectIn(spec));
  return Verdict(policy, subject, wanted);
}

}  // namespace

bool IsReview(const ApiRequest& request) {
  if (request.path.size() < 4 || request.path[0] != "apis" ||
      (request.path[1] != "authentication.k8s.io" && request.path[1] != "authorization.k8s.io")) {
    return false;
  }
  return request.path[2] == "v1";
}

bool IsSelfReview(const ApiRequest& request) {
  return IsReview(request) && request.path.back().starts_with("self");
}

ApiResult<std::string> AnswerReview(const ApiRequest& request, const Policy* policy) {
  std::string_view kind;
  for (const auto& entry : kKinds) {
    if (entry.plural == request.path.back()) kind = entry.kind;
  }
  if (kind.empty()) return NoSuchResource();
  if (request.method != "POST") return MethodNotAllowed();
  BERTH_TRY(Document document, DecodeBody(request, request.path[1] + "/v1", kind));
  json::object& root = document.root();
  DropNulls(root);
  root["kind"] = kind;
  root["apiVersion"] = request.path[1] + "/v1";
  ObjectAt(root, "metadata");
  const json::object spec = FindObject(root, "spec") != nullptr ? *FindObject(root, "spec") : json::object();
  BERTH_TRY(root["status"], StatusOf(kind, request, policy, spec));
  return json::serialize(root) + "\n";
}

}  // namespace berth::sandbox
