#include "service/gate.hpp"

#include <fmt/format.h>

#include "base/ascii.hpp"
#include "base/go_quote.hpp"
#include "http/loop.hpp"
#include "http/server.hpp"
#include "observability/log/log.hpp"
#include "service/auth/authenticator.hpp"
#include "service/auth/authorizer.hpp"
#include "service/endpoints.hpp"
#include "service/negotiation.hpp"

namespace berth::service {
namespace {

// Escapes characters so that no response is interpreted as HTML.
std::string Sanitized(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

std::string_view ResultOf(const Decision& decision) {
  if (decision.kind == Decision::Kind::kAllow) return "allowed";
  if (!decision.error.empty()) return "error";
  return decision.kind == Decision::Kind::kDeny ? "denied" : "no-opinion";
}

class AnyThreadExchange final : public http::Exchange {
 public:
  AnyThreadExchange(http::Loop& loop, std::shared_ptr<http::Exchange> exchange)
      : loop_(loop), exchange_(std::move(exchange)) {}
  ~AnyThreadExchange() override {
    if (exchange_) loop_.Post([exchange = std::move(exchange_)] {});
  }
  void Respond(http::Response response) override {
    if (!exchange_) return;
    if (loop_.OnThread()) return std::exchange(exchange_, nullptr)->Respond(std::move(response));
    loop_.Post([exchange = std::exchange(exchange_, nullptr), response = std::move(response)]() mutable {
      exchange->Respond(std::move(response));
    });
  }
  std::shared_ptr<http::Stream> StartStream(http::Response head, std::size_t queue_limit_bytes) override {
    return std::exchange(exchange_, nullptr)->StartStream(std::move(head), queue_limit_bytes);
  }

 private:
  http::Loop& loop_;
  std::shared_ptr<http::Exchange> exchange_;
};

}  // namespace

std::shared_ptr<http::Exchange> FromAnyThread(http::Loop& loop, std::shared_ptr<http::Exchange> exchange) {
  return std::make_shared<AnyThreadExchange>(loop, std::move(exchange));
}

http::Response BadRequest() {
  http::Response response;
  response.status = 400;
  response.body = ShareText("400 Bad Request");
  return response;
}

struct Gate::Visit {
  http::Request request;
  Target target;
  std::shared_ptr<http::Exchange> exchange;
  User user{};
  MonoTime since{};
};

void Gate::Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) {
  auto target = ParseTarget(request.target);
  if (!target) return exchange->Respond(BadRequest());
  auto visit = std::make_shared<Visit>(std::move(request), std::move(*target), std::move(exchange));
  if (parts_.endpoints.IsPublic(visit->target.path)) return Answer(visit);
  visit->since = parts_.loop.Now();
  parts_.authenticator.Authenticate(visit->request, [this, visit](Expected<User> user) {
    const Duration took = parts_.loop.Now() - visit->since;
    if (!user) {
      parts_.meters.Authenticated("error", "", took);
      log::Error("Unable to authenticate the request", {{"err", user.error().message}});
      return visit->exchange->Respond(StatusAnswer(
          visit->request, visit->target, {.code = 401, .reason = "Unauthorized", .message = "Unauthorized"}));
    }
    parts_.meters.Authenticated("success", user->name, took);
    visit->user = std::move(*user);
    Authorize(visit);
  });
}

// Access to the object suffices, where there is one; otherwise access to the path is needed.
void Gate::Authorize(const std::shared_ptr<Visit>& visit) {
  visit->since = parts_.loop.Now();
  const auto sufficient = parts_.endpoints.SufficientAccess(visit->request, visit->target);
  if (!sufficient) return AuthorizePath(visit);
  parts_.authorizer.Authorize(visit->user, *sufficient, [this, visit](const Decision& decision) {
    if (decision.kind != Decision::Kind::kAllow) return AuthorizePath(visit);
    parts_.meters.Authorized(ResultOf(decision), parts_.loop.Now() - visit->since);
    Answer(visit);
  });
}

void Gate::Answer(const std::shared_ptr<Visit>& visit) {
  auto exchange = FromAnyThread(parts_.loop, std::move(visit->exchange));
  parts_.endpoints.Answer(visit->request, visit->target, visit->user,
                          [exchange](http::Response response) { exchange->Respond(std::move(response)); });
}

void Gate::AuthorizePath(const std::shared_ptr<Visit>& visit) {
  const std::string verb = ToAsciiLower(visit->request.method);
  const std::string path = parts_.endpoints.ReviewedPath(visit->target);
  const auto on_decision = [this, visit, verb, path](const Decision& decision) {
    parts_.meters.Authorized(ResultOf(decision), parts_.loop.Now() - visit->since);
    if (decision.kind == Decision::Kind::kAllow) return Answer(visit);
    if (!decision.error.empty()) {
      return visit->exchange->Respond(
          PlainError(500, Sanitized(fmt::format("Internal Server Error: {}: {}",
                                                GoQuote(visit->request.target), decision.error))));
    }
    if (const auto log = log::V(4)) {
      log.Info("Forbidden", {{"URI", visit->request.target}, {"reason", decision.reason}});
    }
    std::string message =
        Sanitized(fmt::format("User {} cannot {} path {}", GoQuote(visit->user.name), verb, GoQuote(path)));
    if (!decision.reason.empty()) message += ": " + decision.reason;
    auto answer = StatusAnswer(
        visit->request, visit->target,
        {.code = 403, .reason = "Forbidden", .message = "forbidden: " + message, .with_details = true});
    answer.headers.Add("X-Content-Type-Options", "nosniff");
    visit->exchange->Respond(std::move(answer));
  };
  parts_.authorizer.Authorize(visit->user, {verb, path}, on_decision);
}

}  // namespace berth::service
