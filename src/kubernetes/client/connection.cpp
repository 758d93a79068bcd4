#include "kubernetes/client/connection.hpp"

#include "http/client.hpp"
#include "http/io_thread.hpp"
#include "kubernetes/client/exec_plugin.hpp"
#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {
namespace {

constexpr std::chrono::minutes kRereadFiles{5};

}  // namespace

struct Connection::Impl {
  http::IoThread& io;
  const ConnectionConfig config;
  const Environment& environment;
  http::TlsOptions tls;
  std::unique_ptr<http::Client> http;
  std::unique_ptr<RestClient> rest;
  http::Loop::TimerId timer = http::Loop::TimerId::kNone;
  std::string plugin_certificate{}, plugin_key{};
  metrics::Registry* registry = nullptr;

  // As client-go counts: each Connection is one transport.
  void CountTransport(metrics::Registry& metrics) {
    registry = &metrics;
    metrics
        .Gauge("rest_client_transport_cache_entries",
               "[ALPHA] Number of transport entries in the internal cache.")
        .Add(1);
    metrics
        .Counter(
            "rest_client_transport_create_calls_total",
            "[ALPHA] Number of calls to get a new transport, partitioned by the result of the operation hit: "
            "obtained from the cache, miss: created and added to the cache, miss-gc: recreated and added "
            "back to "
            "the cache after being garbage collected, uncacheable: created and not cached",
            {{"result", "miss"}})
        .Add();
    // There is no garbage collector: the certificate watch ends with the connection.
    metrics.Counter(
        "rest_client_transport_cert_rotation_gc_calls_total",
        "[ALPHA] Number of times a cert rotation goroutine cancel func is called via GC cleanup of "
        "the associated transport");
  }
  void CountReload(const char* result, const char* reason) {
    registry
        ->Counter(
            "rest_client_transport_ca_reload_total",
            "[ALPHA] Number of times a CA reload is attempted, partitioned by the result and reason for the "
            "reload attempt",
            {{"result", result}, {"reason", reason}})
        .Add();
  }

  // A plugin's certificate replaces that of files.
  std::shared_ptr<Credentials> MakePluginCredentials(const Clock& clock, metrics::Registry& registry) {
    KubeCluster cluster = config.cluster;
    if (cluster.ca_data.empty()) cluster.ca_data = tls.ca_pem;
    return std::make_shared<ExecPlugin>(
        io, environment, clock, registry, *config.exec, std::move(cluster),
        [this](const std::string& certificate, const std::string& key) -> Expected<> {
          http::TlsOptions fresh = tls;
          fresh.certificate_pem = plugin_certificate = certificate;
          fresh.key_pem = plugin_key = key;
          BERTH_RETURN_IF_ERROR(http->SetTls(fresh));
          tls = std::move(fresh);
          return {};
        });
  }

  void KeepRereading() {
    timer = io.After(kRereadFiles, [this] {
      Reread();
      KeepRereading();
    });
  }
  void Reread() {
    auto fresh = ReadTls(config, environment);
    if (fresh && !plugin_certificate.empty()) {
      fresh->certificate_pem = plugin_certificate;
      fresh->key_pem = plugin_key;
    }
    if (!config.ca.file.empty()) {
      if (!fresh) {
        CountReload("failure", "read_error");
      } else if (fresh->ca_pem.empty()) {
        CountReload("failure", "empty");
        fresh->ca_pem = tls.ca_pem;  // an empty one would mean the system's authorities
      } else {
        CountReload("success", fresh->ca_pem == tls.ca_pem ? "unchanged" : "updated");
      }
    }
    if (fresh && *fresh == tls) return;
    const auto taken = fresh ? http->SetTls(*fresh) : Expected<>(std::unexpected(fresh.error()));
    if (!taken) return log::Error("Unable to use new certificates", {{"err", taken.error().message}});
    tls = std::move(*fresh);
    log::Info("Certificate rotation detected, using the new certificates",
              {{"server", config.origin.HostPort()}});
  }
};

Expected<std::unique_ptr<Connection>> Connection::Open(http::IoThread& io, const ConnectionConfig& config,
                                                       const Environment& environment,
                                                       metrics::Registry& registry, const Clock& clock,
                                                       std::string_view agent_suffix) {
  BERTH_TRY(auto credentials, MakeCredentials(config, environment, clock));
  BERTH_TRY(auto tls, ReadTls(config, environment));
  BERTH_TRY(auto http, http::Client::Make(io, {.origin = config.origin, .tls = tls, .proxy = config.proxy}));
  auto impl =
      std::unique_ptr<Impl>(new Impl{io, config, environment, std::move(tls), std::move(http), nullptr});
  if (config.exec && !HasOwnCredentials(config)) {
    credentials = impl->MakePluginCredentials(clock, registry);
  }
  impl->CountTransport(registry);
  impl->rest = std::make_unique<RestClient>(io, *impl->http, registry,
                                            RestOptions{.host = config.origin.HostPort(),
                                                        .user_agent = UserAgent(agent_suffix),
                                                        .credentials = std::move(credentials),
                                                        .headers = config.impersonation,
                                                        .qps = config.qps,
                                                        .burst = config.burst});
  if (config.from_files()) io.Sync([&] { impl->KeepRereading(); });
  return std::unique_ptr<Connection>(new Connection(std::move(impl)));
}

Connection::Connection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Connection::~Connection() {
  impl_->io.Sync([this] { impl_->io.Cancel(impl_->timer); });
  impl_->rest.reset();
  impl_->http.reset();
}

Api& Connection::api() { return *impl_->rest; }

}  // namespace berth::client
