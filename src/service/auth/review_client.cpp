#include "service/auth/review_client.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "http/loop.hpp"
#include "kubernetes/client/backoff.hpp"

namespace berth::service {
namespace {

constexpr int kTries = 5;
constexpr client::BackoffOptions kRetryPauses{
    .initial = std::chrono::milliseconds(500), .factor = 1.5, .jitter = 0.2};

bool WorthRetrying(const client::RequestError& error) {
  if (!error.answered()) return error.code == ErrorCode::kAmbiguous;  // the connection was lost
  return error.reason == "InternalError" || error.reason == "Timeout" || error.reason == "TooManyRequests" ||
         error.retry_after_seconds > 0 ||
         (error.reason.empty() &&
          (error.http_code == 500 || error.http_code == 504 || error.http_code == 429));
}

struct PendingReview {
  std::string body;
  std::move_only_function<void(client::Reply)> done;
  client::Backoff pauses{kRetryPauses};
  MonoTime began{};
  MonoTime sent_at{};
  int tries = 0;
  client::Api::CallId call = 0;
  http::Loop::TimerId timer = http::Loop::TimerId::kNone;
};

}  // namespace

// Requests whose client may have gone long ago. At the rate of the API client they take a few seconds.
constexpr std::size_t kMostOpen = 500;

struct ReviewClient::Impl : std::enable_shared_from_this<Impl> {
  Impl(http::Loop& loop, client::Api& api, Random& random, metrics::Registry& registry, ReviewOptions options)
      : loop(loop), api(api), random(random), meters(registry, options.kind), options(std::move(options)) {}

  // nullopt: the deadline has passed.
  std::optional<Duration> TimeLeft(const PendingReview& review) const {
    if (options.deadline == Duration::zero()) return options.timeout;
    const Duration left = review.began + options.deadline - loop.Now();
    if (left <= Duration::zero()) return std::nullopt;
    return std::min(left, options.timeout);
  }

  void SendRequest(const std::shared_ptr<PendingReview>& review, Duration timeout) {
    ++review->tries;
    review->sent_at = loop.Now();
    review->call =
        api.Send({.method = "POST", .path = options.path, .body = review->body, .timeout = timeout},
                 [weak = weak_from_this(), review](client::Reply reply) {
                   if (const auto self = weak.lock()) self->Answered(review, std::move(reply));
                 });
  }

  void Answered(const std::shared_ptr<PendingReview>& review, client::Reply reply) {
    review->call = 0;
    meters.Answered(reply ? 201 : reply.error().http_code, loop.Now() - review->sent_at);
    if (reply || review->tries == kTries || !WorthRetrying(reply.error())) {
      return End(review, std::move(reply));
    }
    const Duration pause = review->pauses.Next(loop.Now(), random);
    const auto left = TimeLeft(*review);
    if (!left || (options.deadline != Duration::zero() && *left <= pause)) {
      return End(review, std::move(reply));
    }
    review->timer = loop.After(pause, [weak = weak_from_this(), review] {
      const auto self = weak.lock();
      if (!self) return;
      review->timer = http::Loop::TimerId::kNone;
      self->SendRequest(review, self->TimeLeft(*review).value_or(std::chrono::milliseconds(1)));
    });
  }

  void End(const std::shared_ptr<PendingReview>& review, client::Reply reply) {
    open.erase(review);
    review->done(std::move(reply));
  }

  http::Loop& loop;
  client::Api& api;
  Random& random;
  ReviewMetrics meters;
  const ReviewOptions options;
  std::set<std::shared_ptr<PendingReview>> open;
};

ReviewClient::ReviewClient(http::Loop& loop, client::Api& api, Random& random, metrics::Registry& registry,
                           ReviewOptions options)
    : impl_(std::make_shared<Impl>(loop, api, random, registry, std::move(options))) {}

ReviewClient::~ReviewClient() {
  for (const auto& review : impl_->open) {
    if (review->call != 0) impl_->api.Cancel(review->call);
    impl_->loop.Cancel(review->timer);
  }
}

void ReviewClient::Post(std::string body, std::move_only_function<void(client::Reply)> done) {
  if (impl_->open.size() >= kMostOpen) {
    return impl_->loop.Post([alive = std::weak_ptr(impl_), done = std::move(done)]() mutable {
      if (alive.expired()) return;
      done(std::unexpected(client::RequestError{.code = ErrorCode::kUnavailable,
                                                .message = "too many requests wait for a review"}));
    });
  }
  auto review = std::make_shared<PendingReview>();
  review->body = std::move(body);
  review->done = std::move(done);
  review->began = impl_->loop.Now();
  impl_->open.insert(review);
  impl_->SendRequest(review, impl_->TimeLeft(*review).value_or(impl_->options.timeout));
}

}  // namespace berth::service
