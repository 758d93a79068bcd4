#include "service/auth/authorizer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "http/loop.hpp"
#include "observability/log/log.hpp"
#include "service/auth/expiring_cache.hpp"
#include "service/auth/reviews.hpp"
#include "service/auth/sha256.hpp"

namespace berth::service {
namespace {

constexpr std::size_t kCacheCapacity = 8192;
// Requests of this length are not cached, so that clients cannot fill the memory.
constexpr std::size_t kTooLongToKeep = 10'000;

std::string_view WithoutSlash(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  return path;
}

std::size_t SizeOf(const Attributes& attributes) {
  const std::size_t size = attributes.verb.size() + attributes.path.size();
  return attributes.resource ? size + attributes.resource->ns.size() + attributes.resource->name.size()
                             : size;
}

Decision AsDecision(const AccessVerdict& verdict) {
  using enum Decision::Kind;
  if (verdict.denied) {
    return {kDeny, verdict.reason,
            verdict.allowed ? "webhook subject access review returned both allow and deny response" : ""};
  }
  if (verdict.allowed) return {kAllow, verdict.reason};
  // There is no further authorizer after the API server; a missing decision is reported with its reason.
  return {kNoOpinion, verdict.reason.empty() ? "" : "kubernetes.io/webhook: " + verdict.reason};
}

}  // namespace

Expected<AlwaysAllowed> AlwaysAllowed::Parse(const std::vector<std::string>& paths) {
  AlwaysAllowed allowed;
  for (const std::string& given : paths) {
    std::string path(WithoutSlash(given));
    if (path.substr(0, path.size() - 1).contains('*') && path.size() > 1) {
      return Invalid(fmt::format("only trailing * allowed in \"{}\"", path));
    }
    if (path.ends_with('*')) {
      path.pop_back();
      allowed.prefixes_.push_back(std::move(path));
    } else {
      allowed.paths_.push_back(std::move(path));
    }
  }
  return allowed;
}

bool AlwaysAllowed::Allows(std::string_view path) const {
  path = WithoutSlash(path);
  return std::ranges::find(paths_, path) != paths_.end() ||
         std::ranges::any_of(prefixes_, [&](const auto& prefix) { return path.starts_with(prefix); });
}

struct Authorizer::Impl : std::enable_shared_from_this<Impl> {
  Impl(http::Loop& loop, client::Api* api, Random& random, metrics::Registry& registry, AlwaysAllowed always,
       Duration authorized_ttl, Duration unauthorized_ttl)
      : loop(loop),
        always(std::move(always)),
        authorized_ttl(authorized_ttl),
        unauthorized_ttl(unauthorized_ttl) {
    if (api == nullptr) return;
    reviews.emplace(loop, *api, random, registry,
                    ReviewOptions{.path = "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                                  .kind = "authz",
                                  .timeout = std::chrono::seconds(10)});
  }

  void Authorize(const User& user, const Attributes& attributes, Done done) {
    if (std::ranges::find(user.groups, "system:masters") != user.groups.end() ||
        (!attributes.resource && always.Allows(attributes.path))) {
      return done({Decision::Kind::kAllow});
    }
    if (!reviews) return done({});
    std::string body = AccessReviewBody(user, attributes);
    const bool keep = SizeOf(attributes) < kTooLongToKeep;
    std::string key = keep ? Sha256(body) : "";
    if (const auto known = keep ? cache.Get(key, loop.Now()) : std::nullopt) return done(AsDecision(*known));
    reviews->Post(std::move(body),
                  [this, key = std::move(key), done = std::move(done)](client::Reply reply) mutable {
                    Answered(key, std::move(reply), done);
                  });
  }

  void Answered(const std::string& key, client::Reply reply, Done& done) {
    const auto unusable = [&](const std::string& error) {
      log::Error("Failed to make webhook authorizer request: " + error);
      done({Decision::Kind::kNoOpinion, "", error});
    };
    if (!reply) return unusable(reply.error().message);
    const auto verdict = ParseAccessReview(*reply);
    if (!verdict) return unusable(verdict.error().message);
    if (!key.empty()) {
      cache.Put(key, *verdict, loop.Now(), verdict->allowed ? authorized_ttl : unauthorized_ttl);
    }
    done(AsDecision(*verdict));
  }

  http::Loop& loop;
  const AlwaysAllowed always;
  const Duration authorized_ttl, unauthorized_ttl;
  ExpiringCache<AccessVerdict> cache{kCacheCapacity};  // by hash of the full request
  std::optional<ReviewClient> reviews;
};

Authorizer::Authorizer(http::Loop& loop, client::Api* api, Random& random, metrics::Registry& registry,
                       AlwaysAllowed always, Duration authorized_ttl, Duration unauthorized_ttl)
    : impl_(std::make_shared<Impl>(loop, api, random, registry, std::move(always), authorized_ttl,
                                   unauthorized_ttl)) {}
Authorizer::~Authorizer() = default;

void Authorizer::Authorize(const User& user, const Attributes& attributes, Done done) {
  impl_->Authorize(user, attributes, std::move(done));
}

}  // namespace berth::service
