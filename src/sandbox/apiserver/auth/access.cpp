#include "sandbox/apiserver/auth/access.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sandbox/apiserver/metrics/metrics.hpp"
#include "sandbox/apiserver/reviews.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kBearer = "Bearer ";

std::unexpected<ApiError> Unauthorized() {
  ApiError error;
  error.code = 401;
  error.reason = "Unauthorized";
  error.message = "Unauthorized";
  return std::unexpected(std::move(error));
}

ApiResult<User> Identify(const Policy* policy, const http::Request& request) {
  if (request.peer) {
    if (!request.peer->trusted) return Unauthorized();
    User user{request.peer->common_name, request.peer->organizations};
    user.groups.emplace_back("system:authenticated");
    return user;
  }
  const auto authorization = request.headers.Find("Authorization");
  if (policy == nullptr) return User{"sandbox", {"system:masters", "system:authenticated"}};
  if (authorization.starts_with(kBearer)) {
    if (auto user = policy->ByToken(authorization.substr(kBearer.size()))) return *user;
    return Unauthorized();
  }
  if (!policy->anonymous() || !authorization.empty()) return Unauthorized();
  return User{"system:anonymous", {"system:unauthenticated"}};
}

bool IsProbe(std::string_view target) {
  const auto path = target.substr(0, target.find('?'));
  return path == "/healthz" || path == "/livez" || path == "/readyz" || path == "/version";
}

std::string_view VerbOf(const ApiRequest& request, std::string_view name) {
  if (request.method == "POST") return "create";
  if (request.method == "PUT") return "update";
  if (request.method == "PATCH") return "patch";
  if (request.method == "DELETE") return name.empty() ? "deletecollection" : "delete";
  if (!name.empty()) return "get";
  return request.query.Flag("watch") ? "watch" : "list";
}

// Of a resource that is answered and not stored:
// /apis/<group>/<version>[/namespaces/<ns>]/<resource>[/<name>].
Attributes AttributesOfPath(const ApiRequest& request) {
  const auto& path = request.path;
  const bool namespaced = path[3] == "namespaces" && path.size() > 5;
  const std::size_t at = namespaced ? 5 : 3;
  Attributes wanted;
  wanted.group = path[1];
  wanted.resource = path[at];
  if (namespaced) wanted.ns = path[4];
  if (path.size() > at + 1) wanted.name = path[at + 1];
  wanted.verb = VerbOf(request, wanted.name);
  return wanted;
}

std::unexpected<ApiError> Denied(const User& user, const Attributes& wanted) {
  ApiError error;
  error.code = 403;
  error.reason = "Forbidden";
  error.has_details = true;
  if (wanted.resource.empty()) {
    error.message =
        fmt::format("forbidden: User \"{}\" cannot {} path \"{}\"", user.name, wanted.verb, wanted.path);
    return std::unexpected(std::move(error));
  }
  const std::string plural = wanted.resource.substr(0, wanted.resource.find('/'));
  const std::string qualified = wanted.group.empty() ? plural : fmt::format("{}.{}", plural, wanted.group);
  error.name = wanted.name;
  error.group = wanted.group;
  error.kind = plural;
  error.message = fmt::format(
      "{} is forbidden: User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {}",
      wanted.name.empty() ? qualified : fmt::format("{} \"{}\"", qualified, wanted.name), user.name,
      wanted.verb, wanted.resource, wanted.group,
      wanted.ns.empty() ? "at the cluster scope" : fmt::format("in the namespace \"{}\"", wanted.ns));
  return std::unexpected(std::move(error));
}

}  // namespace

ApiResult<User> Authenticate(const Policy* policy, const http::Request& request) {
  auto identified = Identify(policy, request);
  // Probes have no credentials.
  if (!identified && IsProbe(request.target)) return User{"system:anonymous", {"system:unauthenticated"}};
  BERTH_TRY(User user, std::move(identified));
  const auto as = request.headers.Find("Impersonate-User");
  if (as.empty()) return user;
  if (!user.In("system:masters")) {
    ApiError error;
    error.code = 403;
    error.reason = "Forbidden";
    error.has_details = true;
    error.name = as;
    error.kind = "users";
    error.message = fmt::format(
        "users \"{}\" is forbidden: User \"{}\" cannot impersonate resource \"users\" in API group \"\" at "
        "the "
        "cluster scope",
        as, user.name);
    return std::unexpected(std::move(error));
  }
  User other{std::string(as), {}};
  for (const auto& [name, value] : request.headers) {
    if (name == "Impersonate-Group") other.groups.push_back(value);
  }
  other.groups.emplace_back("system:authenticated");
  return other;
}

Attributes AttributesOf(const ApiRequest& request) {
  if (request.type == nullptr && (IsReview(request) || IsMetrics(request))) return AttributesOfPath(request);
  Attributes wanted;
  if (request.type == nullptr) {
    wanted.verb = request.method;
    std::ranges::transform(wanted.verb, wanted.verb.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    for (const auto& segment : request.path) wanted.path += "/" + segment;
    if (wanted.path.empty()) wanted.path = "/";
    return wanted;
  }
  wanted.verb = VerbOf(request, request.name);
  wanted.group = request.events_group ? "events.k8s.io" : std::string(request.type->group);
  wanted.resource = std::string(request.type->plural);
  if (!request.subresource.empty()) wanted.resource += "/" + request.subresource;
  wanted.ns = request.ns;
  wanted.name = request.name;
  return wanted;
}

ApiResult<> Authorize(const Policy& policy, const ApiRequest& request) {
  const Attributes wanted = AttributesOf(request);
  if (policy.Decide(request.user, wanted).allowed) return {};
  return Denied(request.user, wanted);
}

}  // namespace berth::sandbox
