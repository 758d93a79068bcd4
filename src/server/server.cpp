#include "server/server.hpp"

#include "http/io_thread.hpp"
#include "http/server.hpp"
#include "server/endpoints.hpp"

namespace berth::server {

Expected<std::unique_ptr<Server>> Server::Listen(http::IoThread& io, Endpoints& endpoints,
                                                 std::string address, std::uint16_t port) {
  http::ServerOptions options;
  options.address = std::move(address);
  options.port = port;
  Expected<std::unique_ptr<http::Server>> server;
  io.Sync([&] {
    server =
        http::Server::Listen(io.context(), std::move(options),
                             [&endpoints](http::Request request, std::shared_ptr<http::Exchange> exchange) {
                               exchange->Respond(endpoints.Answer(request));
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

}  // namespace berth::server
