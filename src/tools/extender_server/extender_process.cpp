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

namespace berth::extender_server {
namespace {

constexpr std::chrono::seconds kCertificateCheckInterval{1};
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
  Expected<http::ServerTlsOptions> Tls() const;
  Expected<std::unique_ptr<http::Server>> Listen(http::ServerOptions options,
                                                 extender_server::Service& service);
  void ReloadCertificates();

  const ExtenderFlags& flags_;
  const client::Environment& environment_;
  const Clock& clock_;
  http::IoThread io_;
  std::optional<service::ServingCertificates> certificates_;
  http::ServerTlsOptions shown_;
  log::Once logged_errors_{16};
  http::Loop::TimerId timer_ = http::Loop::TimerId::kNone;
  std::unique_ptr<http::Server> open_, secure_;
};

http::ServerOptions Listeners::Options() const {
  service::ServingLimits limits;
  limits.connections = static_cast<std::size_t>(flags_.connections);
  limits.body_bytes = static_cast<std::size_t>(flags_.body_mib) << 20;
  http::ServerOptions options = service::OptionsWithin(limits);
  options.refusal = &Refusal;
  return options;
}

Expected<http::ServerTlsOptions> Listeners::Tls() const {
  http::ServerTlsOptions tls = certificates_->tls();
  tls.trust_later = false;  // the one authority is known at the start
  if (!flags_.client_ca_file.empty()) {
    auto authority = environment_.ReadFile(flags_.client_ca_file);
    if (!authority) return std::unexpected(std::move(authority).error().In("--client-ca-file"));
    tls.client_ca_pem = std::move(*authority);
  }
  return tls;
}

Expected<std::unique_ptr<http::Server>> Listeners::Listen(http::ServerOptions options,
                                                          extender_server::Service& service) {
  Expected<std::unique_ptr<http::Server>> server;
  io_.Sync([&] {
    server =
        http::Server::Listen(io_.context(), std::move(options),
                             [&service](http::Request request, std::shared_ptr<http::Exchange> exchange) {
                               service.Handle(std::move(request), std::move(exchange));
                             });
  });
  return server;
}

Expected<void> Listeners::Open(extender_server::Service& service) {
  if (!flags_.http_address.empty()) {
    const std::optional<process::HostPort> address = process::ParseHostPort(flags_.http_address);
    if (!address) {
      return Invalid(fmt::format("--http-address {}: expected ADDRESS:PORT such as 127.0.0.1:8888",
                                 flags_.http_address));
    }
    http::ServerOptions options = Options();
    options.address = address->host;
    options.port = address->port;
    BERTH_TRY(open_, Listen(std::move(options), service));
    log::Info("Serving the extender over HTTP", {{"address", open_->address()}});
  }
  if (flags_.serving.port == 0) return {};
  BERTH_TRY(certificates_, service::ServingCertificates::Load(flags_.serving, environment_, clock_));
  BERTH_TRY(shown_, Tls());
  http::ServerOptions options = Options();
  options.address = flags_.serving.bind_address;
  options.port = static_cast<std::uint16_t>(flags_.serving.port);
  options.both_families = true;
  BERTH_TRY(options.tls, http::MakeServerTlsContext(shown_));
  BERTH_TRY(secure_, Listen(std::move(options), service));
  log::Info("Serving the extender over HTTPS", {{"address", secure_->address()}});
  io_.Sync([this] { timer_ = io_.After(kCertificateCheckInterval, [this] { ReloadCertificates(); }); });
  return {};
}

// Certificates are renewed in place; new connections use the current files.
void Listeners::ReloadCertificates() {
  timer_ = io_.After(kCertificateCheckInterval, [this] { ReloadCertificates(); });
  const auto renew = [this]() -> Expected<void> {
    BERTH_RETURN_IF_ERROR(certificates_->Reload(environment_));
    BERTH_TRY(http::ServerTlsOptions tls, Tls());
    if (tls == shown_) return {};
    BERTH_TRY(auto context, http::MakeServerTlsContext(tls));
    secure_->SetTls(std::move(context));
    shown_ = std::move(tls);
    log::Info("Loaded new certificates");
    return {};
  };
  if (const auto renewed = renew(); !renewed && logged_errors_.First(renewed.error().message))
    log::Error("Failed to reload certificates, keeping the current ones", {{"err", renewed.error().message}});
}

void Listeners::Close() {
  for (auto* server : {&open_, &secure_}) {
    if (*server == nullptr) continue;
    std::promise<void> drained;
    io_.Sync([&] { (*server)->Stop(kDrain, [&] { drained.set_value(); }); });
    drained.get_future().wait();
    io_.Sync([&] { server->reset(); });
  }
  io_.Sync([this] { io_.Cancel(std::exchange(timer_, http::Loop::TimerId::kNone)); });
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
  if (!flags_.evaluator.profile.empty() && engine_->FindProfile(flags_.evaluator.profile) == nullptr) {
    return Invalid(fmt::format("--profile {}: no such profile; the configuration has \"{}\"",
                               flags_.evaluator.profile, engine_->profiles().front()->name()));
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
  evaluator_.emplace(*engine_, flags_.evaluator);
  service_ = std::make_unique<extender_server::Service>(
      flags_.service,
      extender_server::ServiceParts{.io = listeners_.io(),
                                    .post = [this](auto work) { follower_->Post(std::move(work)); },
                                    .evaluator = *evaluator_,
                                    .nominations = [this] { return Nominations(); },
                                    .ready = [this] { return follower_->synced(); },
                                    .api = *writer_,
                                    .clock = clock_,
                                    .metrics = metrics_,
                                    .endpoints = *endpoints_});
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
