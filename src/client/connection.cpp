#include "client/connection.hpp"

#include "http/client.hpp"
#include "http/io_thread.hpp"
#include "log/log.hpp"

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

  void KeepRereading() {
    timer = io.After(kRereadFiles, [this] {
      Reread();
      KeepRereading();
    });
  }
  void Reread() {
    auto fresh = ReadTls(config, environment);
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
  BERTH_TRY(auto http, http::Client::Make(io, {.origin = config.origin, .tls = tls}));
  auto impl =
      std::unique_ptr<Impl>(new Impl{io, config, environment, std::move(tls), std::move(http), nullptr});
  impl->rest = std::make_unique<RestClient>(io, *impl->http, registry,
                                            RestOptions{.host = config.origin.HostPort(),
                                                        .user_agent = UserAgent(agent_suffix),
                                                        .credentials = std::move(credentials),
                                                        .headers = config.impersonation});
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
