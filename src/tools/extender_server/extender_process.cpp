#include "tools/extender_server/extender_process.hpp"

#include <fmt/format.h>

#include <future>
#include <memory>
#include <optional>

#include "http/io_thread.hpp"
#include "http/server.hpp"
#include "kubernetes/client/api_writer.hpp"
#include "kubernetes/client/connection.hpp"
#include "kubernetes/client/connection_config.hpp"
#include "kubernetes/client/environment.hpp"
#include "kubernetes/client/exec_plugin.hpp"
#include "kubernetes/client/informers.hpp"
#include "kubernetes/ports/dry_run_ports.hpp"
#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"
#include "process/api_connections.hpp"
#include "process/host_port.hpp"
#include "process/measuring.hpp"
#include "process/signals.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "service/endpoints.hpp"
#include "service/process_metrics.hpp"
#include "service/serving_certificates.hpp"
#include "service/serving_limits.hpp"
#include "service/tls_listener.hpp"

namespace berth::extender_server {
namespace {

constexpr std::chrono::seconds kDrain{5};

http::Response Refusal(int status) {
  http::Response response;
  response.status = status;
  response.body = http::Share(status == 413   ? "the request is larger than --max-request-mib allows\n"
                              : status == 431 ? "the headers are too large\n"
                              : status == 400 ? "not an HTTP request\n"
                                              : "internal error\n");
  return response;
}

// The listeners: HTTPS, plain HTTP, or both. On their own thread: reading ten megabytes of nodes must not
// delay the watches.
class Listeners {
 public:
  Listeners(const ExtenderFlags& flags, const client::Environment& environment, const Clock& clock)
      : flags_(flags), environment_(environment), clock_(clock), io_(clock) {}
  ~Listeners() { Close(); }

  http::IoThread& io() { return io_; }
  Expected<void> Open(extender_server::Service& service);
  void Close();

 private:
  http::ServerOptions Options() const;
  Expected<void> SetClientAuthority(http::ServerTlsOptions& tls) const;

  const ExtenderFlags& flags_;
  const client::Environment& environment_;
  const Clock& clock_;
  http::IoThread io_;
  std::unique_ptr<http::Server> open_;
  std::unique_ptr<service::TlsListener> secure_;
};

http::ServerOptions Listeners::Options() const {
  service::ServingLimits limits;
  limits.connections = static_cast<std::size_t>(flags_.connections);
  limits.body_bytes = static_cast<std::size_t>(flags_.body_mib) << 20;
  http::ServerOptions options = service::OptionsWithin(limits);
  options.refusal = &Refusal;
  return options;
}

Expected<void> Listeners::SetClientAuthority(http::ServerTlsOptions& tls) const {
  tls.trust_later = false;  // the one authority is known at the start
  if (flags_.client_ca_file.empty()) return {};
  auto authority = environment_.ReadFile(flags_.client_ca_file);
  if (!authority) return std::unexpected(std::move(authority).error().In("--client-ca-file"));
  tls.client_ca_pem = std::move(*authority);
  return {};
}

Expected<void> Listeners::Open(extender_server::Service& service) {
  const auto handler = [&service](http::Request request, std::shared_ptr<http::Exchange> exchange) {
    service.Handle(std::move(request), std::move(exchange));
  };
  if (!flags_.http_address.empty()) {
    const std::optional<process::HostPort> address = process::ParseHostPort(flags_.http_address);
    if (!address) {
      return Invalid(fmt::format("--http-address {}: expected ADDRESS:PORT such as 127.0.0.1:8888",
                                 flags_.http_address));
    }
    http::ServerOptions options = Options();
    options.address = address->host;
    options.port = address->port;
    Expected<std::unique_ptr<http::Server>> listening;
    io_.Sync([&] { listening = http::Server::Listen(io_.context(), std::move(options), handler); });
    BERTH_TRY(open_, std::move(listening));
    log::Info("Serving the extender over HTTP", {{"address", open_->address()}});
  }
  if (flags_.serving.port == 0) return {};
  BERTH_TRY(auto certificates, service::ServingCertificates::Load(flags_.serving, environment_, clock_));
  http::ServerOptions options = Options();
  options.address = flags_.serving.bind_address;
  options.port = static_cast<std::uint16_t>(flags_.serving.port);
  options.both_families = true;
  Expected<std::unique_ptr<service::TlsListener>> listening;
  io_.Sync([&] {
    listening = service::TlsListener::Listen(
        io_, environment_, std::move(certificates),
        [this](http::ServerTlsOptions& tls) { return SetClientAuthority(tls); }, std::move(options), handler);
  });
  BERTH_TRY(secure_, std::move(listening));
  log::Info("Serving the extender over HTTPS", {{"address", secure_->server().address()}});
  return {};
}

void Listeners::Close() {
  const auto drain = [this](http::Server& server) {
    std::promise<void> drained;
    io_.Sync([&] { server.Stop(kDrain, [&] { drained.set_value(); }); });
    drained.get_future().wait();
  };
  if (open_) drain(*open_);
  if (secure_) drain(secure_->server());
  io_.Sync([this] {
    open_.reset();
    secure_.reset();
  });
}

// The parts in the order of their dependencies. The loop belongs to a scheduler that never leads: it follows
// the cluster, including the nominations of other schedulers, and evaluates requests between two changes.
class Process {
 public:
  Process(const ExtenderFlags& flags, const config::SchedulerConfig& config, const runtime::Registry& plugins)
      : flags_(flags), config_(config), plugins_(plugins), listeners_(flags, environment_, clock_) {}
  ~Process() { listeners_.Close(); }

  Expected<void> Assemble(std::vector<std::string>& notes);
  void Run();

 private:
  Expected<void> Connect();
  void MakeService();
  std::vector<runtime::Nomination> Nominations() const;

  const ExtenderFlags& flags_;
  const config::SchedulerConfig& config_;
  const runtime::Registry& plugins_;
  process::Signals signals_;  // before any thread
  const client::SystemEnvironment environment_;
  const SystemClock clock_;
  metrics::Registry metrics_;
  metrics::Registry discarded_metrics_;  // receives the scheduler's queue metrics, which are not exported
  http::IoThread io_{clock_};
  std::unique_ptr<client::Connection> connection_;
  std::unique_ptr<client::ApiWriter> writer_;
  ports::DiscardingEventSink no_events_;  // this process records no events
  const std::string empty_hostname_;      // the host name in events, which this process never records
  std::unique_ptr<assembly::Engine> engine_;
  std::optional<cycle::Scheduler> follower_;
  std::unique_ptr<process::Measuring> measuring_;  // null: no plugin uses measurements
  std::optional<extender_server::Evaluator> evaluator_;
  std::unique_ptr<service::Endpoints> endpoints_;
  Listeners listeners_;
  std::unique_ptr<extender_server::Service> service_;
  std::unique_ptr<client::ClusterSource> source_;
};

Expected<void> Process::Connect() {
  client::ConnectionFlags wanted{flags_.kubeconfig, flags_.master};
  if (wanted.kubeconfig.empty()) wanted.kubeconfig = config_.client_connection.kubeconfig;
  BERTH_TRY(const client::ConnectionConfig server, client::LoadConnection(wanted, environment_));
  client::AddExecPluginMetrics(metrics_);
  BERTH_TRY(connection_, client::Connection::Open(io_, server, environment_, metrics_, clock_, "extender"));
  writer_ = std::make_unique<client::ApiWriter>(io_, connection_->api(), clock_);
  log::Info("Following the cluster", {{"server", server.origin.host}, {"port", server.origin.port}});
  return {};
}

Expected<void> Process::Assemble(std::vector<std::string>& notes) {
  BERTH_RETURN_IF_ERROR(Connect());
  BERTH_TRY(engine_, assembly::Engine::Build(config_, plugins_, *writer_, notes,
                                             {.registry = &metrics_, .clock = &clock_, .options = {}}));
  if (!flags_.judge.profile.empty() && engine_->FindProfile(flags_.judge.profile) == nullptr) {
    return Invalid(fmt::format("--profile {}: no such profile; the configuration has \"{}\"",
                               flags_.judge.profile, engine_->profiles().front()->name()));
  }
  cycle::SchedulerOptions options;
  options.stand_by = true;
  options.record_bytes = 0;
  options.blocking_threads = 1;
  follower_.emplace(options, cycle::SchedulerParts{engine_->handle(), engine_->cache(), engine_->profiles(),
                                                   no_events_, clock_, discarded_metrics_});
  BERTH_TRY(measuring_,
            process::Measuring::Start({flags_.metric_sources, engine_->handle(), *follower_, environment_,
                                       clock_, metrics_, no_events_, empty_hostname_}));
  service::AddProcessMetrics(metrics_);
  MakeService();
  BERTH_RETURN_IF_ERROR(listeners_.Open(*service_));
  client::ClusterSourceOptions source;
  source.retained = engine_->retained_fields();
  source.encoding = process::EncodingBy(config_.client_connection);
  source.on_complete = [this] {
    if (measuring_) measuring_->OnNodesSynced();
  };
  source_ = std::make_unique<client::ClusterSource>(io_, connection_->api(), metrics_, follower_->sink(),
                                                    std::move(source));
  return {};
}

void Process::MakeService() {
  endpoints_ = std::make_unique<service::Endpoints>(metrics_);
  endpoints_->AddHealth("healthz", {});
  endpoints_->AddHealth("livez", {});
  endpoints_->AddHealth("readyz", {{"informer-sync", [this]() -> std::optional<std::string> {
                                      if (follower_->synced()) return std::nullopt;
                                      return "the caches are not synchronized yet";
                                    }}});
  evaluator_.emplace(*engine_, flags_.judge);
  service_ = std::make_unique<extender_server::Service>(
      flags_.service,
      extender_server::ServiceParts{.io = listeners_.io(),
                                    .post = [this](auto work) { follower_->Post(std::move(work)); },
                                    .judge = *evaluator_,
                                    .nominations = [this] { return Nominations(); },
                                    .ready = [this] { return follower_->synced(); },
                                    .api = *writer_,
                                    .clock = clock_,
                                    .metrics = metrics_,
                                    .endpoints = *endpoints_,
                                    .retained = engine_->retained_fields()});
}

std::vector<runtime::Nomination> Process::Nominations() const {
  std::vector<runtime::Nomination> nominations;
  for (const auto& [uid, nomination] : follower_->queue().nominator().all())
    nominations.push_back({engine_->cache().nodes().Find(nomination.node), &nomination.pod->info});
  return nominations;
}

void Process::Run() {
  signals_.OnFirst([this] {
    listeners_.Close();  // before the evaluator stops, so that pending requests are answered
    follower_->Stop();
  });
  source_->Start();
  follower_->Run();
  source_.reset();
}

}  // namespace

Expected<int> RunExtender(const ExtenderFlags& flags, const config::SchedulerConfig& config,
                          const runtime::Registry& plugins, std::vector<std::string> notes) {
  Process process(flags, config, plugins);
  BERTH_RETURN_IF_ERROR(process.Assemble(notes));
  for (const std::string& note : notes) log::Warning(note);
  process.Run();
  return 0;
}

}  // namespace berth::extender_server
