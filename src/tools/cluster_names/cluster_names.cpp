#include "tools/cluster_names/cluster_names.hpp"

#include <fmt/format.h>

#include "http/io_thread.hpp"
#include "http/origin.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/client/connection_config.hpp"
#include "kubernetes/client/environment.hpp"
#include "tools/migrate/live_server.hpp"

namespace berth::cluster_names {
namespace {

constexpr std::chrono::seconds kTimeout{2};
constexpr const char* kOnlyMetadata =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

// The names in the list at the path that `path_in` returns for the namespace of the context.
template <class PathIn>
Expected<std::vector<std::string>> NamesAt(const Cluster& cluster, PathIn&& path_in) {
  const SystemClock clock;
  const client::SystemEnvironment environment;
  BERTH_TRY(const client::UserConnection user,
            client::LoadUserConnection(cluster.kubeconfig, cluster.context, environment));
  http::IoThread io(clock);
  BERTH_TRY(const auto server, migrate::LiveServer::Open(user.config, "completion", io, environment, clock));
  const client::Reply reply = server->Send(
      {.path = path_in(user.ns), .timeout = kTimeout, .accept = kOnlyMetadata, .single_attempt = true});
  if (!reply) return std::unexpected(reply.error().ToError());
  api::Decoder decoder;
  BERTH_TRY(const api::VersionList list, decoder.Versions(*reply));
  std::vector<std::string> names;
  for (const auto& item : list.items) names.emplace_back(item.name);
  return names;
}

}  // namespace

Expected<std::vector<std::string>> Namespaces(const Cluster& cluster) {
  return NamesAt(cluster,
                 [](const std::string&) { return fmt::format("/api/v1/namespaces?limit={}", kMostNames); });
}

Expected<std::vector<std::string>> PendingPods(const Cluster& cluster, const std::string& ns) {
  return NamesAt(cluster, [&](const std::string& own) {
    return fmt::format("/api/v1/namespaces/{}/pods?limit={}&fieldSelector={}",
                       http::EncodeQuery(ns.empty() ? own : ns), kMostNames,
                       http::EncodeQuery("status.phase=Pending"));
  });
}

}  // namespace berth::cluster_names
