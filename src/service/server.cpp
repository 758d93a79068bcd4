#include "service/server.hpp"

#include "http/io_thread.hpp"
#include "http/server.hpp"
#include "service/endpoints.hpp"
#include "service/gate.hpp"
#include "service/negotiation.hpp"

namespace berth::service {
namespace {

void Handle(http::Loop& loop, Endpoints& endpoints, const http::Request& request,
            std::shared_ptr<http::Exchange> exchange) {
  const auto target = ParseTarget(request.target);
  if (!target) return exchange->Respond(BadRequest());
  if (!endpoints.IsPublic(target->path)) return exchange->Respond(NotFound());
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
                                                 std::string address, std::uint16_t port,
                                                 const ServingLimits& limits) {
  http::ServerOptions options = OptionsWithin(limits);
  options.address = std::move(address);
  options.port = port;
  Expected<std::unique_ptr<http::Server>> server;
  io.Sync([&] {
    server = http::Server::Listen(
        io.context(), std::move(options),
        [&io, &endpoints](const http::Request& request, std::shared_ptr<http::Exchange> exchange) {
          Handle(io, endpoints, request, std::move(exchange));
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
