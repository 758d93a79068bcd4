#include "service/auth/review_client.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "kubernetes/client/backoff.hpp"
#include "http/loop.hpp"

namespace berth::service {
namespace {

constexpr int kTries = 5;
constexpr client::BackoffOptions kPauses{
    .initial = std::chrono::milliseconds(500), .factor = 1.5, .jitter = 0.2};

bool WorthRetrying(const client::RequestError& error) {
  if (!error.answered()) return error.code == ErrorCode::kAmbiguous;  // the connection was lost
  return error.reason == "InternalError" || error.reason == "Timeout" || error.reason == "TooManyRequests" ||
         error.retry_after_seconds > 0 ||
         (error.reason.empty() &&
          (error.http_code == 500 || error.http_code == 504 || error.http_code == 429));
}

struct Question {
  std::string body;
  std::move_only_function<void(client::Reply)> done;
  client::Backoff pauses{kPauses};
  MonoTime began{};
  MonoTime asked{};
  int tries = 0;
  client::Api::CallId call = 0;
  http::Loop::TimerId timer = http::Loop::TimerId::kNone;
};

}  // namespace

struct ReviewClient::Impl : std::enable_shared_from_this<Impl> {
  Impl(http::Loop& loop, client::Api& api, Random& random, metrics::Registry& registry, ReviewOptions options)
      : loop(loop), api(api), random(random), meters(registry, options.kind), options(std::move(options)) {}

  // nullopt: the deadline has passed.
  std::optional<Duration> TimeLeft(const Question& question) const {
    if (options.deadline == Duration::zero()) return options.timeout;
    const Duration left = question.began + options.deadline - loop.Now();
    if (left <= Duration::zero()) return std::nullopt;
    return std::min(left, options.timeout);
  }

  void Ask(const std::shared_ptr<Question>& question, Duration timeout) {
    ++question->tries;
    question->asked = loop.Now();
    question->call =
        api.Send({.method = "POST", .path = options.path, .body = question->body, .timeout = timeout},
                 [weak = weak_from_this(), question](client::Reply reply) {
                   if (const auto self = weak.lock()) self->Answered(question, std::move(reply));
                 });
  }

  void Answered(const std::shared_ptr<Question>& question, client::Reply reply) {
    question->call = 0;
    meters.Answered(reply ? 201 : reply.error().http_code, loop.Now() - question->asked);
    if (reply || question->tries == kTries || !WorthRetrying(reply.error())) {
      return End(question, std::move(reply));
    }
    const Duration pause = question->pauses.Next(loop.Now(), random);
    const auto left = TimeLeft(*question);
    if (!left || (options.deadline != Duration::zero() && *left <= pause)) {
      return End(question, std::move(reply));
    }
    question->timer = loop.After(pause, [weak = weak_from_this(), question] {
      const auto self = weak.lock();
      if (!self) return;
      question->timer = http::Loop::TimerId::kNone;
      self->Ask(question, self->TimeLeft(*question).value_or(std::chrono::milliseconds(1)));
    });
  }

  void End(const std::shared_ptr<Question>& question, client::Reply reply) {
    open.erase(question);
    question->done(std::move(reply));
  }

  http::Loop& loop;
  client::Api& api;
  Random& random;
  ReviewMetrics meters;
  const ReviewOptions options;
  std::set<std::shared_ptr<Question>> open;
};

ReviewClient::ReviewClient(http::Loop& loop, client::Api& api, Random& random, metrics::Registry& registry,
                           ReviewOptions options)
    : impl_(std::make_shared<Impl>(loop, api, random, registry, std::move(options))) {}

ReviewClient::~ReviewClient() {
  for (const auto& question : impl_->open) {
    if (question->call != 0) impl_->api.Cancel(question->call);
    impl_->loop.Cancel(question->timer);
  }
}

void ReviewClient::Post(std::string body, std::move_only_function<void(client::Reply)> done) {
  auto question = std::make_shared<Question>();
  question->body = std::move(body);
  question->done = std::move(done);
  question->began = impl_->loop.Now();
  impl_->open.insert(question);
  impl_->Ask(question, impl_->TimeLeft(*question).value_or(impl_->options.timeout));
}

}  // namespace berth::service
