#include "tools/ui/local_server.hpp"

#include <fmt/format.h>

#include "http/server.hpp"
#include "service/gate.hpp"
#include "service/negotiation.hpp"
#include "service/page/page.hpp"
#include "tools/ui/local_access.hpp"

namespace berth::ui {
namespace {

constexpr std::size_t kMostConnections = 64;
constexpr std::size_t kMostBody = 4 << 10;  // only GET is answered

http::Response JsonAnswer(std::string body) {
  http::Response response = service::Plain(200, std::move(body), "application/json");
  response.headers.Add("X-Content-Type-Options", "nosniff");
  return response;
}

http::Response ErrorAnswer(const http::Request& request, const service::Target& target, int status,
                           std::string reason, std::string message) {
  http::Response response = service::StatusAnswer(
      request, target, {.code = status, .reason = std::move(reason), .message = std::move(message)});
  response.headers.Add("X-Content-Type-Options", "nosniff");
  return response;
}

http::Response AnswerOf(const http::Request& request, const service::Target& target, client::Reply reply) {
  if (reply) return JsonAnswer(*std::move(reply));
  const client::RequestError& error = reply.error();
  if (!error.answered())
    return ErrorAnswer(request, target, 502, "BadGateway",
                       "the scheduler cannot be reached: " + error.message);
  // The page takes 401 for a wrong key; here the scheduler has not accepted the credentials of the
  // kubeconfig.
  const int status = error.http_code == 401 ? 403 : error.http_code;
  http::Response response = ErrorAnswer(request, target, status, error.reason, error.message);
  if (error.retry_after_seconds > 0)
    response.headers.Add("Retry-After", std::to_string(error.retry_after_seconds));
  return response;
}

}  // namespace

Expected<std::unique_ptr<LocalServer>> LocalServer::Listen(http::IoThread& io, Requests& requests,
                                                           std::string key, std::uint16_t port) {
  std::unique_ptr<LocalServer> local(new LocalServer(io, requests, std::move(key)));
  http::ServerOptions options;
  options.address = "127.0.0.1";
  options.port = port;
  options.body_limit_bytes = kMostBody;
  options.max_connections = kMostConnections;
  Expected<std::unique_ptr<http::Server>> server;
  io.Sync([&] {
    server = http::Server::Listen(
        io.context(), std::move(options),
        [self = local.get()](const http::Request& request, std::shared_ptr<http::Exchange> exchange) {
          self->Handle(request, std::move(exchange));
        });
    if (server) local->port_ = (*server)->port();
  });
  if (!server) return std::unexpected(std::move(server).error().In("--port"));
  local->server_ = std::move(*server);
  return local;
}

LocalServer::LocalServer(http::IoThread& io, Requests& requests, std::string key)
    : io_(io), requests_(requests), key_(std::move(key)) {}

LocalServer::~LocalServer() {
  io_.Sync([this] { server_.reset(); });
}

void LocalServer::Handle(const http::Request& request, std::shared_ptr<http::Exchange> exchange) {
  const auto target = service::ParseTarget(request.target);
  if (!target) return exchange->Respond(service::BadRequest());
  if (auto refusal = RefusalOf(request, *target, port_, key_)) {
    return exchange->Respond(ErrorAnswer(request, *target, refusal->status, std::move(refusal->reason),
                                         std::move(refusal->message)));
  }
  if (!IsApiRequest(*target)) return exchange->Respond(service::PageAnswer(request, *target));
  const auto response = service::FromAnyThread(io_, std::move(exchange));
  const bool accepted =
      requests_.Get(request.target, [request, target = *target, response](client::Reply reply) {
        response->Respond(AnswerOf(request, target, std::move(reply)));
      });
  if (accepted) return;
  http::Response busy =
      ErrorAnswer(request, *target, 429, "TooManyRequests", "too many requests are waiting");
  busy.headers.Add("Retry-After", "1");
  response->Respond(std::move(busy));
}

}  // namespace berth::ui
