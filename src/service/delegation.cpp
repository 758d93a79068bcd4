#include "service/delegation.hpp"

#include <fmt/format.h>

#include <future>

#include "http/io_thread.hpp"
#include "kubernetes/client/api.hpp"
#include "observability/log/log.hpp"
#include "service/auth/trust.hpp"

namespace berth::service {
namespace {

constexpr const char* kPath = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
// As in kube-scheduler: reviews must not be delayed by client-side limits.
constexpr double kQps = 200;
constexpr int kBurst = 400;

client::Reply Fetch(http::IoThread& io, client::Api& api) {
  std::promise<client::Reply> answer;
  io.Sync([&] {
    api.Send({.path = kPath, .timeout = std::chrono::seconds(10)},
             [&](client::Reply reply) { answer.set_value(std::move(reply)); });
  });
  return answer.get_future().get();
}

}  // namespace

Expected<std::optional<client::ConnectionConfig>> LoadReviewConnection(
    const std::string& kubeconfig, const std::string& what, const client::Environment& environment) {
  if (!kubeconfig.empty()) {
    auto loaded = client::LoadConnection({.kubeconfig = kubeconfig}, environment);
    if (loaded) return std::move(*loaded);
    const std::string context = fmt::format("failed to get delegated {} kubeconfig", what);
    Error error = std::move(loaded).error().In(context);
    // kube-scheduler repeats the context for authentication.
    return std::unexpected(what == "authentication" ? std::move(error).In(context) : std::move(error));
  }
  auto in_cluster = client::InClusterConnection(environment);
  if (in_cluster) return std::move(*in_cluster);
  if (in_cluster.error().code != ErrorCode::kNotFound) {
    log::Warning(fmt::format("failed to read in-cluster kubeconfig for delegated {}: {}", what,
                             in_cluster.error().message));
  }
  return std::nullopt;
}

Expected<std::unique_ptr<client::Connection>> ConnectForReviews(
    http::IoThread& io, const std::string& kubeconfig, const std::string& what,
    const client::Environment& environment, metrics::Registry& metrics, const Clock& clock) {
  BERTH_TRY(std::optional<client::ConnectionConfig> config,
            LoadReviewConnection(kubeconfig, what, environment));
  if (!config) return nullptr;
  config->qps = kQps;
  config->burst = kBurst;
  auto connection = client::Connection::Open(io, *config, environment, metrics, clock, "");
  if (connection) return connection;
  return std::unexpected(
      std::move(connection).error().In(fmt::format("failed to get delegated {} kubeconfig", what)));
}

Expected<> ReadTrustFromCluster(http::IoThread& io, client::Api& api, const AuthenticationOptions& options,
                                Trust& trust) {
  const client::Reply reply = Fetch(io, api);
  Expected<> outcome;
  if (reply) {
    const auto data = ParseConfigMap(*reply);
    if (data) {
      io.Sync([&] { outcome = trust.Take(*data); });
      // A missing key may be added later.
      if (const auto log = log::V(2); log && !outcome) {
        log.Info("The authentication configuration is incomplete", {{"err", outcome.error().message}});
      }
      return {};
    }
    outcome = std::unexpected(data.error());
  } else if (reply.error().http_code != 404) {
    if (reply.error().http_code == 403) {
      log::Warning(
          "Unable to get configmap/extension-apiserver-authentication in kube-system.  Usually fixed by "
          "'kubectl "
          "create rolebinding -n kube-system ROLEBINDING_NAME "
          "--role=extension-apiserver-authentication-reader "
          "--serviceaccount=YOUR_NS:YOUR_SA'");
    }
    outcome = std::unexpected(reply.error().ToError());
  }
  if (outcome) return {};
  if (!options.tolerate_lookup_failure && trust.proxy_from_cluster()) {
    return std::unexpected(
        std::move(outcome).error().In("unable to load configmap based request-header-client-ca-file"));
  }
  log::Warning("Error looking up in-cluster authentication configuration: " + outcome.error().message);
  log::Warning(
      "Continuing without authentication configuration until it can be read. Until then all requests may be "
      "treated as anonymous.");
  log::Warning(
      "To require authentication configuration lookup to succeed, set "
      "--authentication-tolerate-lookup-failure=false");
  return {};
}

}  // namespace berth::service
