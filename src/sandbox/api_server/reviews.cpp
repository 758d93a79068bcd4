#include "sandbox/api_server/reviews.hpp"

namespace berth::sandbox {
namespace {

json::object User() {
  return {{"username", "sandbox"}, {"groups", json::array{"system:masters", "system:authenticated"}}};
}

json::object EverythingAllowed() {
  const json::array all{"*"};
  const json::object resource_rule{{"verbs", all}, {"apiGroups", all}, {"resources", all}};
  const json::object path_rule{{"verbs", all}, {"nonResourceURLs", all}};
  return {{"resourceRules", json::array{resource_rule}},
          {"nonResourceRules", json::array{path_rule}},
          {"incomplete", false}};
}

struct Kind {
  std::string_view plural, kind;
};
constexpr Kind kKinds[] = {{"selfsubjectreviews", "SelfSubjectReview"},
                           {"tokenreviews", "TokenReview"},
                           {"selfsubjectaccessreviews", "SelfSubjectAccessReview"},
                           {"selfsubjectrulesreviews", "SelfSubjectRulesReview"},
                           {"subjectaccessreviews", "SubjectAccessReview"},
                           {"localsubjectaccessreviews", "LocalSubjectAccessReview"}};

}  // namespace

bool IsReview(const ApiRequest& request) {
  return request.path.size() >= 4 && request.path[0] == "apis" &&
         (request.path[1] == "authentication.k8s.io" || request.path[1] == "authorization.k8s.io");
}

ApiResult<std::string> AnswerReview(const ApiRequest& request) {
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
  if (kind == "SelfSubjectReview") {
    root["status"] = json::object{{"userInfo", User()}};
  } else if (kind == "TokenReview") {
    root["status"] = json::object{{"authenticated", true}, {"user", User()}};
  } else if (kind == "SelfSubjectRulesReview") {
    root["status"] = EverythingAllowed();
  } else {
    root["status"] = json::object{{"allowed", true}};
  }
  return json::serialize(root) + "\n";
}

}  // namespace berth::sandbox
