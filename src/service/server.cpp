#include "service/server.hpp"

#include "http/io_thread.hpp"
#include "http/server.hpp"
#include "service/endpoints.hpp"
#include "service/gate.hpp"
#include "service/negotiation.hpp"

namespace berth::service {
namespace {

// nullopt: the path may be read.
std::optional<http::Response> Refusal(const Endpoints& endpoints, PlainContent content,
                                      std::string_view path) {
  if (endpoints.IsHealth(path)) return std::nullopt;
  if (!Endpoints::IsMetrics(path)) return NotFound();
  if (content == PlainContent::kHealthAndMetrics) return std::nullopt;
  return PlainError(403,
                    "metrics are served at --secure-port to authorized clients, and here with "
                    "--berth-http-metrics");
}

void Handle(http::Loop& loop, Endpoints& endpoints, PlainContent content, const http::Request& request,
            std::shared_ptr<http::Exchange> exchange) {
  const auto target = ParseTarget(request.target);
  if (!target) return exchange->Respond(BadRequest());
  if (auto refusal = Refusal(endpoints, content, target->path)) return exchange->Respond(*std::move(refusal));
  if (request.method != "GET" && request.method != "HEAD") {
    auto refusal = PlainError(405, "Method Not Allowed");
    refusal.headers.Add("Allow", "GET, HEAD");
    return exchange->Respond(std::move(refusal));
  }
  endpoints.Answer(request, *target,
                   [exchange = FromAnyThread(loop, std::move(exchange))](http::Response response) {
                     exchange->Respond(std::move(response));
                   });
}

}  // namespace

Expected<std::unique_ptr<Server>> Server::Listen(http::IoThread& io, Endpoints& endpoints,
                                                 PlainContent content, std::string address,
                                                 std::uint16_t port, const ServingLimits& limits) {
  http::ServerOptions options = OptionsWithin(limits);
  options.address = std::move(address);
  options.port = port;
  Expected<std::unique_ptr<http::Server>> server;
  io.Sync([&] {
    server = http::Server::Listen(
        io.context(), std::move(options),
        [&io, &endpoints, content](const http::Request& request, std::shared_ptr<http::Exchange> exchange) {
          Handle(io, endpoints, content, request, std::move(exchange));
        });
  });
  if (!server) return std::unexpected(std::move(server).error());
  return std::unique_ptr<Server>(new Server(io, std::move(*server)));
}

Server::Server(http::IoThread& io, std::unique_ptr<http::Server> server)
    : io_(io), server_(std::move(server)) {}

Server::~Server() {
  io_.Sync([this] { server_.reset(); });
}

std::uint16_t Server::port() const { return server_->port(); }

}  // namespace berth::service
