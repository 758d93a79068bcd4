#include "tools/migrate/access.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json.hpp>
#include <map>

namespace berth::migrate {
namespace {

namespace json = boost::json;

constexpr std::string_view kAccounts = "system:serviceaccount:";

// The groups that the API server itself adds to a user.
json::array GroupsOf(std::string_view user) {
  json::array groups{"system:authenticated"};
  if (!user.starts_with(kAccounts)) return groups;
  const std::string_view account = user.substr(kAccounts.size());
  groups.emplace_back("system:serviceaccounts");
  groups.emplace_back(fmt::format("system:serviceaccounts:{}", account.substr(0, account.find(':'))));
  return groups;
}

json::object Attributes(const Permission& permission) {
  json::object attributes{
      {"verb", permission.verb}, {"group", permission.group}, {"resource", permission.resource}};
  if (!permission.subresource.empty()) attributes["subresource"] = permission.subresource;
  if (!permission.ns.empty()) attributes["namespace"] = permission.ns;
  if (!permission.name.empty()) attributes["name"] = permission.name;
  return attributes;
}

// `user` empty: the caller itself.
client::ApiRequest Review(const Permission& permission, const std::string& user) {
  json::object spec{{"resourceAttributes", Attributes(permission)}};
  if (!user.empty()) {
    spec["user"] = user;
    spec["groups"] = GroupsOf(user);
  }
  const std::string kind = user.empty() ? "SelfSubjectAccessReview" : "SubjectAccessReview";
  return {.method = "POST",
          .path = fmt::format("/apis/authorization.k8s.io/v1/{}s",
                              user.empty() ? "selfsubjectaccessreview" : "subjectaccessreview"),
          .body = json::serialize(json::object{
              {"apiVersion", "authorization.k8s.io/v1"}, {"kind", kind}, {"spec", std::move(spec)}})};
}

bool Allowed(const config::Value& review) {
  const config::Value* status = review.Find("status");
  const config::Value* allowed = status == nullptr ? nullptr : status->Find("allowed");
  return allowed != nullptr && allowed->text == "true";
}

Finding NotChecked(const AccessCheckOptions& options, std::string_view why) {
  return {Level::kWarning, Topic::kPermissions,
          fmt::format("permissions of {} were not checked: {}", options.user, why),
          fmt::format("a user with the right to impersonate can run: kubectl auth can-i --list --as={}; "
                      "docs/guide/permissions.md lists what is needed",
                      options.user)};
}

// Adds one finding per consequence.
void AddFinding(const AccessCheckOptions& options, const std::vector<const Permission*>& missing,
                Findings& findings) {
  std::map<std::pair<Level, std::string>, std::vector<std::string>, std::greater<>> by_consequence;
  for (const Permission* permission : missing)
    by_consequence[{permission->without, permission->consequence}].push_back(permission->Text());
  for (const auto& [key, texts] : by_consequence) {
    findings.push_back({key.first, Topic::kPermissions,
                        fmt::format("{} may not {}: {}", options.user, fmt::join(texts, ", "), key.second),
                        options.remedy});
  }
}

}  // namespace

std::string CurrentUser(Server& server) {
  const auto answer =
      GetTree(server, {.method = "POST",
                       .path = "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                       .body = R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})"});
  return answer ? TextAt(*answer, {"status", "userInfo", "username"}) : "";
}

Findings CheckAccess(Server& server, const AccessCheckOptions& options) {
  const std::string subject = CurrentUser(server) == options.user ? "" : options.user;
  const std::vector<Permission> all = NeededPermissions(options.lease, options.watched);
  std::vector<const Permission*> missing;
  std::size_t requests = 0;
  for (const Permission& permission : all) {
    if (options.absent.contains(permission.resource + "." + permission.group)) continue;
    const auto answer = GetTree(server, Review(permission, subject));
    if (!answer) return {NotChecked(options, answer.error().message)};
    ++requests;
    if (!Allowed(*answer)) missing.push_back(&permission);
  }
  if (missing.empty()) {
    return {
        {Level::kOk, Topic::kPermissions,
         fmt::format("{} has all permissions that Berth needs ({} permissions)", options.user, requests)}};
  }
  if (missing.size() == requests) {
    return {{Level::kBlocker, Topic::kPermissions,
             fmt::format("{} has none of the permissions that Berth needs", options.user), options.remedy}};
  }
  Findings findings;
  AddFinding(options, missing, findings);
  return findings;
}

}  // namespace berth::migrate
