#include "service/tls_listener.hpp"

#include <utility>

#include "http/io_thread.hpp"
#include "kubernetes/client/environment.hpp"

namespace berth::service {
namespace {

constexpr std::chrono::seconds kFilePollInterval{1};

}  // namespace

TlsListener::TlsListener(http::IoThread& io, const client::Environment& environment,
                         ServingCertificates certificates, ClientSettings client_settings)
    : io_(io),
      environment_(environment),
      certificates_(std::move(certificates)),
      client_settings_(std::move(client_settings)) {}

TlsListener::~TlsListener() { io_.Cancel(timer_); }

Expected<std::unique_ptr<TlsListener>> TlsListener::Listen(
    http::IoThread& io, const client::Environment& environment, ServingCertificates certificates,
    ClientSettings client_settings, http::ServerOptions options, http::Handler handler) {
  std::unique_ptr<TlsListener> listener(
      new TlsListener(io, environment, std::move(certificates), std::move(client_settings)));
  BERTH_TRY(listener->used_, listener->Settings());
  BERTH_TRY(options.tls, http::MakeServerTlsContext(listener->used_));
  BERTH_TRY(listener->server_, http::Server::Listen(io.context(), std::move(options), std::move(handler)));
  listener->timer_ = io.After(kFilePollInterval, [&poll = *listener] { poll.Poll(); });
  return listener;
}

Expected<http::ServerTlsOptions> TlsListener::Settings() const {
  http::ServerTlsOptions settings = certificates_.tls();
  BERTH_RETURN_IF_ERROR(client_settings_(settings));
  return settings;
}

// True if the settings have changed.
Expected<bool> TlsListener::Refresh() {
  BERTH_TRY(http::ServerTlsOptions settings, Settings());
  if (settings == used_) return false;
  BERTH_TRY(auto context, http::MakeServerTlsContext(settings));
  server_->SetTls(std::move(context));
  used_ = std::move(settings);
  return true;
}

void TlsListener::Update() {
  if (const auto refreshed = Refresh(); !refreshed && logged_errors_.First(refreshed.error().message)) {
    log::Error("Failed to use new certificates; keeping the previous ones",
               {{"err", refreshed.error().message}});
  }
}

void TlsListener::Poll() {
  timer_ = io_.After(kFilePollInterval, [this] { Poll(); });
  const auto changed = certificates_.Reload(environment_);
  if (changed && *changed) log::Info("Loaded serving cert");
  if (!changed && logged_errors_.First(changed.error().message)) {
    log::Error("Failed to load the serving certificate; keeping the previous one",
               {{"err", changed.error().message}});
  }
  Update();
}

}  // namespace berth::service
