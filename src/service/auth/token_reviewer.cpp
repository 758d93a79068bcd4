#include "service/auth/token_reviewer.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <optional>

#include "base/text_map.hpp"
#include "base/trim.hpp"
#include "http/loop.hpp"
#include "observability/log/log.hpp"
#include "service/auth/expiring_cache.hpp"
#include "service/auth/reviews.hpp"

namespace berth::service {
namespace {

constexpr std::size_t kTokenCacheCapacity = 32 * 1024;

// nullopt: not authenticated, without an error.
using Known = std::optional<User>;

Expected<User> AsAnswer(Known known) {
  if (known) return std::move(*known);
  return Fail(ErrorCode::kUnauthorized, "invalid bearer token");
}

}  // namespace

std::string_view BearerToken(std::string_view authorization) {
  authorization = Trimmed(authorization, " \t\n\v\f\r");
  const auto space = authorization.find(' ');
  if (space != 6) return {};
  constexpr std::string_view kBearer = "bearer";
  for (std::size_t i = 0; i < kBearer.size(); ++i) {
    if ((authorization[i] | 0x20) != kBearer[i]) return {};
  }
  authorization.remove_prefix(space + 1);
  return authorization.substr(0, authorization.find(' '));
}

struct TokenReviewer::Impl : std::enable_shared_from_this<Impl> {
  struct Waiting {
    Done done;
    MonoTime since;
  };

  Impl(http::Loop& loop, client::Api& api, Random& random, metrics::Registry& registry, Duration time_to_live)
      : loop(loop),
        time_to_live(time_to_live),
        meters(registry),
        reviews(loop, api, random, registry,
                {.path = "/apis/authentication.k8s.io/v1/tokenreviews",
                 .kind = "authn",
                 .timeout = std::chrono::seconds(10),
                 .deadline = std::chrono::seconds(10)}) {
    RAND_bytes(key.data(), static_cast<int>(key.size()));
  }

  std::string Hash(std::string_view token) const {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest, &size);
    return {reinterpret_cast<char*>(digest), size};
  }

  void Review(std::string_view token, Done done) {
    const MonoTime now = loop.Now();
    const std::string hash = Hash(token);
    if (auto known = cache.Get(hash, now)) {
      meters.Requested(true, Duration::zero());
      return done(AsAnswer(std::move(*known)));
    }
    meters.Blocked(1);
    auto& together = waiting[hash];
    together.push_back({std::move(done), now});
    if (together.size() > 1) return;
    meters.FetchBegins();
    reviews.Post(TokenReviewBody(token),
                 [this, hash](client::Reply reply) { Answered(hash, std::move(reply)); });
  }

  void Answered(const std::string& hash, client::Reply reply) {
    const Expected<Known> verdict = Evaluate(std::move(reply));
    meters.FetchEnds(verdict.has_value());
    if (verdict) cache.Put(hash, *verdict, loop.Now(), time_to_live);
    auto together = std::move(waiting.extract(hash).mapped());
    const auto alive = shared_from_this();  // a callback may release this object
    for (Waiting& one : together) {
      meters.Blocked(-1);
      meters.Requested(false, loop.Now() - one.since);
      one.done(verdict ? AsAnswer(*verdict) : Expected<User>(std::unexpected(verdict.error())));
    }
  }

  static Expected<Known> Evaluate(client::Reply reply) {
    const auto unusable = [](Error error) -> Expected<Known> {
      log::Error("Failed to make webhook authenticator request: " + error.message);
      return std::unexpected(std::move(error));
    };
    if (!reply) return unusable(reply.error().ToError());
    auto verdict = ParseTokenReview(*reply);
    if (!verdict) return unusable(std::move(verdict).error());
    if (verdict->authenticated) return Known(std::move(verdict->user));
    if (!verdict->error.empty()) return Fail(ErrorCode::kUnauthorized, std::move(verdict->error));
    return Known();
  }

  http::Loop& loop;
  const Duration time_to_live;
  TokenCacheMetrics meters;
  std::array<unsigned char, 32> key{};
  ExpiringCache<Known> cache{kTokenCacheCapacity};
  TextMap<std::vector<Waiting>> waiting;  // by hash
  ReviewClient reviews;
};

TokenReviewer::TokenReviewer(http::Loop& loop, client::Api& api, Random& random, metrics::Registry& registry,
                             Duration time_to_live)
    : impl_(std::make_shared<Impl>(loop, api, random, registry, time_to_live)) {}
TokenReviewer::~TokenReviewer() = default;

void TokenReviewer::Review(std::string_view token, Done done) { impl_->Review(token, std::move(done)); }

}  // namespace berth::service
