#include "kubernetes/client/rest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <charconv>

#include "http/client.hpp"
#include "http/loop.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/client/encoding.hpp"
#include "kubernetes/client/rate_limit.hpp"
#include "kubernetes/client/rest_metrics.hpp"
#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {
namespace {

constexpr int kRetriesMax = 10;
constexpr std::chrono::seconds kResetDelay{1};
// The longest wait that a server or proxy can impose.
constexpr std::chrono::seconds kRetryAfterMax{30};
// The largest expected body: an unpaged list (a relist at a known version) of a very large cluster.
constexpr std::size_t kBodyLimitBytes = std::size_t{8} << 30;
// client-go logs waits of a second and more; shorter ones are normal with a rate limit.
constexpr Duration kLongThrottling = std::chrono::seconds(1);

// The value of Retry-After; nullopt if it is absent or a date, which client-go ignores too.
std::optional<std::chrono::seconds> RetryAfter(const http::ClientResponse& response) {
  if (response.status != 429 && response.status < 500) return std::nullopt;
  const std::string* value = response.Find("Retry-After");
  int seconds = 0;
  if (value == nullptr) return std::nullopt;
  const auto [end, ec] = std::from_chars(value->data(), value->data() + value->size(), seconds);
  if (ec != std::errc() || end != value->data() + value->size() || seconds < 0) return std::nullopt;
  return std::chrono::seconds(seconds);
}

}  // namespace

std::string UserAgent(std::string_view suffix) {
  std::string agent = "kube-scheduler/v1.37.1 (linux/amd64) kubernetes/0000000";
  if (!suffix.empty()) agent.append("/").append(suffix);
  return agent;
}

struct RestClient::Impl {
  struct Call {
    CallId id = 0;
    ApiRequest request;
    std::optional<WatchHandlers> watch;
    std::move_only_function<void(Reply)> done;
    int retries = 0;
    bool server_failed = false;    // an attempt was answered with 5xx and repeated
    std::uint64_t credential = 0;  // serial of the last attempt's credential
    bool opened = false;
    MonoTime began{};    // the first attempt
    MonoTime sent_at{};  // the last one
    http::Transport::CallId transport_call = 0;
    http::Loop::TimerId timer = http::Loop::TimerId::kNone;
  };
  using CallPtr = std::shared_ptr<Call>;

  http::Loop& loop;
  http::Transport& transport;
  const RestOptions options;
  RestMetrics meters;
  RateLimit limit;
  api::Decoder decoder{};
  CallId last_id = 0;
  boost::unordered_flat_map<CallId, CallPtr> calls{};

  CallId Begin(ApiRequest request, std::optional<WatchHandlers> watch,
               std::move_only_function<void(Reply)> done);
  void Queue(const CallPtr& call);
  void Try(const CallPtr& call);
  void Send(const CallPtr& call);
  void OnAnswer(const CallPtr& call, Expected<http::ClientResponse> answer);
  bool Retry(const CallPtr& call, const Expected<http::ClientResponse>& answer);
  RequestError Refusal(const http::ClientResponse& response);
  void Finish(const CallPtr& call, Reply reply);
  void Count(const Call& call, int status, std::size_t bytes = 0);
};

Api::CallId RestClient::Impl::Begin(ApiRequest request, std::optional<WatchHandlers> watch,
                                    std::move_only_function<void(Reply)> done) {
  auto call = std::make_shared<Call>();
  call->id = ++last_id;
  call->request = std::move(request);
  call->watch = std::move(watch);
  call->done = std::move(done);
  calls.emplace(call->id, call);
  Queue(call);
  return call->id;
}

// Waits for the rate limit before every attempt; watches are not limited.
void RestClient::Impl::Queue(const CallPtr& call) {
  const Duration wait = call->watch ? Duration::zero() : limit.Take(loop.Now());
  if (!call->watch) meters.Limited(call->request.method, wait);
  if (wait == Duration::zero()) return Try(call);
  if (wait > kLongThrottling) {
    log::Info("Waited before sending request",
              {{"delay", fmt::format("{:.1f}s", std::chrono::duration<double>(wait).count())},
               {"reason", "client-side throttling, not priority and fairness"},
               {"verb", call->request.method},
               {"path", call->request.path}});
  }
  call->timer = loop.After(wait, [this, call] {
    call->timer = http::Loop::TimerId::kNone;
    Try(call);
  });
}

void RestClient::Impl::Try(const CallPtr& call) {
  if (!options.credentials) return Send(call);
  // Posted, since callbacks must not run within the caller's call.
  options.credentials->WhenReady([this, call](Expected<> ready) {
    if (!call->done) return;  // cancelled meanwhile
    if (ready) return Send(call);
    loop.Post([this, call, error = std::move(ready).error()] {
      if (!call->done) return;
      meters.Answered(call->request.method, 0);
      Finish(call, std::unexpected(RequestError{.code = error.code, .message = error.message}));
    });
  });
}

void RestClient::Impl::Send(const CallPtr& call) {
  http::ClientRequest out;
  out.method = call->request.method;
  out.target = call->request.path;
  out.body = call->request.body;
  out.timeout = call->request.timeout;
  out.body_limit_bytes = kBodyLimitBytes;
  out.refused = call->request.refused;
  out.headers = {{"User-Agent", options.user_agent}, {"Accept", call->request.accept}};
  out.headers.insert(out.headers.end(), options.headers.begin(), options.headers.end());
  if (!out.body.empty()) out.headers.emplace_back("Content-Type", call->request.content_type);
  if (options.credentials) {
    call->credential = options.credentials->Serial();
    if (auto value = options.credentials->Authorization(); !value.empty()) {
      out.headers.emplace_back("Authorization", std::move(value));
    }
  }
  call->sent_at = loop.Now();
  if (call->retries == 0) call->began = call->sent_at;
  auto done = [this, call](Expected<http::ClientResponse> answer) {
    // A cancelled call is no longer in the table; after the destructor no call is.
    if (call->done) OnAnswer(call, std::move(answer));
  };
  if (call->watch) {
    http::StreamOptions stream;
    stream.on_open = [this, call] {
      call->opened = true;  // counted now, because it may stay open for ten minutes
      Count(*call, 200);
      if (call->watch->on_open) call->watch->on_open();
    };
    stream.on_line = call->watch->on_line;
    stream.framed_type = kProtobufType;
    stream.idle_timeout = call->request.idle_timeout;
    call->transport_call = transport.Stream(std::move(out), std::move(stream), std::move(done));
  } else {
    call->transport_call = transport.Send(std::move(out), std::move(done));
  }
}

void RestClient::Impl::OnAnswer(const CallPtr& call, Expected<http::ClientResponse> answer) {
  if (!call->opened) Count(*call, answer ? answer->status : 0, answer ? answer->body.size() : 0);
  if (const auto log = log::V(8)) {
    log.Info("Response", {{"verb", call->request.method},
                          {"url", call->request.path},
                          {"status", answer ? answer->status : 0}});
  }
  if (Retry(call, answer)) return;
  if (!answer) {
    return Finish(
        call, std::unexpected(RequestError{.code = answer.error().code, .message = answer.error().message}));
  }
  if (answer->status == 401 && options.credentials) options.credentials->OnUnauthorized(call->credential);
  if (answer->status / 100 == 2) return Finish(call, std::move(answer->body));
  Finish(call, std::unexpected(Refusal(*answer)));
}

bool RestClient::Impl::Retry(const CallPtr& call, const Expected<http::ClientResponse>& answer) {
  if (call->request.single_attempt || call->retries >= kRetriesMax) return false;
  Duration delay{};
  if (answer) {
    const auto retry_after = RetryAfter(*answer);
    if (!retry_after) return false;
    delay = std::min(*retry_after, kRetryAfterMax);
    const Duration timeout = call->request.timeout;
    if (timeout > Duration::zero() && loop.Now() + delay >= call->began + timeout) return false;
  } else {
    // Watches handle broken connections themselves.
    if (call->watch || call->request.method != "GET" || answer.error().code != ErrorCode::kAmbiguous)
      return false;
    delay = kResetDelay;
  }
  ++call->retries;
  if (answer && answer->status >= 500) call->server_failed = true;
  meters.Retried(call->request.method, answer ? answer->status : 0);
  if (const auto log = log::V(2)) {
    log.Info("Retrying request", {{"verb", call->request.method},
                                  {"path", call->request.path},
                                  {"status", answer ? answer->status : 0},
                                  {"retries", call->retries}});
  }
  call->timer = loop.After(delay, [this, call] {
    call->timer = http::Loop::TimerId::kNone;
    Queue(call);
  });
  return true;
}

RequestError RestClient::Impl::Refusal(const http::ClientResponse& response) {
  const auto status = decoder.ErrorStatus(response.body, response.status);
  RequestError error = FromStatus(status);
  error.http_code = response.status;
  if (const auto retry_after = RetryAfter(response))
    error.retry_after_seconds = static_cast<int>(retry_after->count());
  return error;
}

void RestClient::Impl::Finish(const CallPtr& call, Reply reply) {
  calls.erase(call->id);
  if (!reply) reply.error().repeated = call->server_failed;
  auto done = std::exchange(call->done, nullptr);
  done(std::move(reply));
}

void RestClient::Impl::Count(const Call& call, int status, std::size_t bytes) {
  meters.Answered(call.request.method, status);
  if (call.watch) return;  // the duration of a watch is no latency
  meters.Took(call.request.method, loop.Now() - call.sent_at);
  if (status != 0) meters.Sizes(call.request.method, call.request.body.size(), bytes);
}

RestClient::RestClient(http::Loop& loop, http::Transport& transport, metrics::Registry& registry,
                       RestOptions options)
    : impl_(new Impl{loop, transport, options, RestMetrics(registry, options.host),
                     RateLimit(options.qps, options.burst)}) {}

RestClient::~RestClient() {
  impl_->loop.Sync([this] {
    while (!impl_->calls.empty()) {
      const Impl::CallPtr call = impl_->calls.begin()->second;
      impl_->loop.Cancel(call->timer);
      auto done = std::exchange(call->done, nullptr);
      impl_->transport.Cancel(call->transport_call);
      impl_->calls.erase(call->id);
      done(std::unexpected(RequestError{.code = ErrorCode::kCancelled, .message = "the client is closing"}));
    }
  });
}

Api::CallId RestClient::Send(ApiRequest request, std::move_only_function<void(Reply)> done) {
  return impl_->Begin(std::move(request), std::nullopt, std::move(done));
}

Api::CallId RestClient::Watch(ApiRequest request, WatchHandlers handlers,
                              std::move_only_function<void(Reply)> done) {
  return impl_->Begin(std::move(request), std::move(handlers), std::move(done));
}

void RestClient::Cancel(CallId id) {
  const auto found = impl_->calls.find(id);
  if (found == impl_->calls.end()) return;
  const Impl::CallPtr call = found->second;
  impl_->calls.erase(found);
  impl_->loop.Cancel(call->timer);
  call->done = nullptr;
  impl_->transport.Cancel(call->transport_call);
}

}  // namespace berth::client
