#include "tools/migrate/live_server.hpp"

#include <fmt/format.h>

#include <future>

#include "kubernetes/client/connection_config.hpp"

namespace berth::migrate {

Expected<std::unique_ptr<LiveServer>> LiveServer::Connect(const std::string& kubeconfig, http::IoThread& io,
                                                          const client::Environment& environment,
                                                          const Clock& clock) {
  BERTH_TRY(const client::ConnectionConfig where,
            client::LoadConnection({.kubeconfig = kubeconfig, .use_variable = true}, environment));
  return Open(where, "migrate", io, environment, clock);
}

Expected<std::unique_ptr<LiveServer>> LiveServer::Open(const client::ConnectionConfig& where,
                                                       std::string_view agent, http::IoThread& io,
                                                       const client::Environment& environment,
                                                       const Clock& clock) {
  auto server = std::make_unique<LiveServer>();
  server->url_ =
      fmt::format("http{}://{}{}", where.origin.tls ? "s" : "", where.origin.HostPort(), where.origin.prefix);
  BERTH_TRY(server->connection_,
            client::Connection::Open(io, where, environment, server->unseen_, clock, agent));
  return server;
}

client::Reply LiveServer::Send(client::ApiRequest request) {
  // Shared: the thread that fulfils the promise may still use it when its future is ready.
  const auto answered = std::make_shared<std::promise<client::Reply>>();
  auto reply = answered->get_future();
  connection_->api().Send(std::move(request),
                          [answered](client::Reply got) { answered->set_value(std::move(got)); });
  return reply.get();
}

}  // namespace berth::migrate
