#include "service/auth/authenticator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "service/auth/client_certificate.hpp"

namespace berth::service {
namespace {

constexpr std::string_view kAnonymous = "system:anonymous";
constexpr std::string_view kAuthenticatedGroup = "system:authenticated";
constexpr std::string_view kEverybodyElse = "system:unauthenticated";

User WithGroup(User user) {
  const bool has = std::ranges::any_of(user.groups, [](const std::string& group) {
    return group == kAuthenticatedGroup || group == kEverybodyElse;
  });
  if (user.name != kAnonymous && !has) user.groups.emplace_back(kAuthenticatedGroup);
  return user;
}

// Joins errors as Kubernetes does: each text once, in brackets if there are several.
Error Aggregate(std::vector<std::string> errors) {
  std::vector<std::string> once;
  for (std::string& error : errors) {
    if (std::ranges::find(once, error) == once.end()) once.push_back(std::move(error));
  }
  if (once.size() == 1) return {ErrorCode::kUnauthorized, once.front()};
  return {ErrorCode::kUnauthorized, fmt::format("[{}]", fmt::join(once, ", "))};
}

}  // namespace

Expected<std::optional<User>> Authenticator::ByCertificate(const http::Request& request) {
  if (!request.peer || !trust_.clients()) return std::nullopt;
  const WallTime now = clock_.WallNow();
  const auto seconds = std::chrono::duration<double>(now.time_since_epoch()).count();
  meters_.CertificateExpires(static_cast<double>(request.peer->not_after) - seconds);
  return UserOfCertificate(request.peer, trust_.clients(), verifier_, now);
}

void Authenticator::Authenticate(const http::Request& request, Done done) {
  std::vector<std::string> errors;
  for (const bool by_proxy : {true, false}) {
    auto identity = by_proxy ? UserOfFrontProxy(request, trust_.front_proxy(), verifier_, clock_.WallNow())
                             : ByCertificate(request);
    if (!identity)
      errors.push_back(std::move(identity).error().message);
    else if (*identity)
      return done(WithGroup(std::move(**identity)));
  }
  const std::string_view token =
      tokens_ == nullptr ? std::string_view() : BearerToken(request.headers.Find("Authorization"));
  if (token.empty()) {
    if (!errors.empty()) return done(std::unexpected(Aggregate(std::move(errors))));
    return done(User{std::string(kAnonymous), "", {std::string(kEverybodyElse)}, {}});
  }
  tokens_->Review(token, [errors = std::move(errors), done = std::move(done)](Expected<User> user) mutable {
    if (user) return done(WithGroup(std::move(*user)));
    errors.push_back(user.error().message);
    done(std::unexpected(Aggregate(std::move(errors))));
  });
}

}  // namespace berth::service
