#include "tools/scheduler_access/scheduler_connection.hpp"

#include <fmt/format.h>

#include "http/origin.hpp"
#include "tools/scheduler_access/leader.hpp"

namespace berth::scheduler_access {
namespace {

constexpr std::chrono::seconds kForwardTimeout{15};
constexpr const char* kAgent = "status";

// The scheduler's answer for a pod that it does not know; every other 404 is that of another program.
constexpr std::string_view kUnknownPod = "in this scheduler";
constexpr std::string_view kApisPrefix = "/apis";

Error Explained(const client::RequestError& error, const std::string& method, const std::string& path,
                const std::string& where) {
  const std::string plain = path.substr(0, path.find('?'));
  if (error.http_code == 404 && error.message.contains(kUnknownPod)) return error.ToError();
  if (error.http_code == 404) {
    return {ErrorCode::kUnavailable,
            fmt::format("{} does not serve {}: it is another scheduler, or an older version of Berth", where,
                        plain)};
  }
  if (error.http_code == 401 || error.http_code == 403) {
    // The scheduler reviews access to its API for the path without the first part (SchedulerApiPath).
    std::string_view reviewed = plain;
    if (reviewed.starts_with(kApisPrefix)) reviewed.remove_prefix(kApisPrefix.size());
    return {ErrorCode::kUnauthorized,
            fmt::format("{}: {}; needed: {} on the path {} (nonResourceURLs){}", where, error.message,
                        method == "GET" ? "get" : "post", reviewed,
                        method == "GET" ? ", for one pod get on the pod" : "")};
  }
  return error.ToError();
}

}  // namespace

Expected<client::ConnectionConfig> SettingsFor(const std::string& url, bool forwarded,
                                               const AccessOptions& options, client::ConnectionConfig cluster,
                                               const client::Environment& environment) {
  auto origin = http::ParseOrigin(url);
  if (!origin) return std::unexpected(std::move(origin).error().In("--server"));
  if (!origin->tls)
    return Invalid(
        fmt::format("--server: {}: expected https://HOST:PORT; credentials are not sent in clear text", url));
  if (options.insecure && !options.ca_file.empty())
    return Invalid("--scheduler-ca excludes --insecure-skip-tls-verify");
  client::ConnectionConfig settings = std::move(cluster);
  settings.origin = *origin;
  settings.server_name = options.server_name;
  settings.insecure = options.insecure || (forwarded && options.ca_file.empty());
  if (settings.insecure) settings.ca = {};
  if (!options.ca_file.empty()) settings.ca = {.file = options.ca_file};
  settings.proxy.reset();
  if (!forwarded) {
    BERTH_TRY(settings.proxy, client::ProxyFromEnvironment(*origin, environment));
  }
  return settings;
}

Expected<std::string> NamespaceOf(const std::string& given, const AccessOptions& options,
                                  const client::Environment& environment) {
  if (!given.empty()) return given;
  BERTH_TRY(client::UserConnection user,
            client::LoadUserConnection(options.kubeconfig, options.context, environment));
  return std::move(user.ns);
}

Expected<SchedulerConnection> SchedulerConnection::Open(const AccessOptions& options,
                                                        const Surroundings& around) {
  SchedulerConnection connection;
  BERTH_TRY(const client::UserConnection cluster,
            client::LoadUserConnection(options.kubeconfig, options.context, around.environment));
  std::string url = options.server;
  if (url.empty()) {
    BERTH_TRY(const auto api,
              migrate::LiveServer::Open(cluster.config, kAgent, around.io, around.environment, around.clock));
    BERTH_TRY(const LeaderPod leader, FindLeader(*api, options.lease));
    BERTH_TRY(auto forward, PortForward::Start({.kubeconfig = options.kubeconfig,
                                                .context = options.context,
                                                .ns = leader.ns,
                                                .pod = leader.name,
                                                .port = leader.port},
                                               around.clock, kForwardTimeout));
    connection.forward_.emplace(std::move(forward));
    connection.where_ = leader.Text();
    url = fmt::format("https://127.0.0.1:{}", connection.forward_->port());
  } else {
    connection.where_ = url;
  }
  BERTH_TRY(const client::ConnectionConfig settings,
            SettingsFor(url, options.server.empty(), options, cluster.config, around.environment));
  BERTH_TRY(connection.server_,
            migrate::LiveServer::Open(settings, kAgent, around.io, around.environment, around.clock));
  return connection;
}

Expected<std::string> SchedulerConnection::Get(const std::string& path) {
  return SendAs("GET", path, kRequestTimeout);
}
Expected<std::string> SchedulerConnection::Post(const std::string& path, Duration timeout) {
  return SendAs("POST", path, timeout);
}

Expected<std::string> SchedulerConnection::SendAs(const std::string& method, const std::string& path,
                                                  Duration timeout) {
  const client::Reply reply =
      server_->Send({.method = method, .path = path, .timeout = timeout, .accept = "application/json"});
  if (!reply) return std::unexpected(Explained(reply.error(), method, path, where_));
  return *reply;
}

client::Reply SchedulerConnection::Send(const std::string& path) {
  return server_->Send(
      {.path = path, .timeout = kRequestTimeout, .accept = "application/json", .single_attempt = true});
}

}  // namespace berth::scheduler_access
