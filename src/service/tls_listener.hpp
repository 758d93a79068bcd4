// An HTTPS listener that follows its certificate files.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "http/loop.hpp"
#include "http/server.hpp"
#include "http/tls.hpp"
#include "observability/log/log.hpp"
#include "service/serving_certificates.hpp"

namespace berth::http {
class IoThread;
}

namespace berth::service {

// Reads the certificates once per second and uses changed ones for new connections; existing connections are
// not affected. Unusable files are logged, and the current certificates stay. Lives on the thread of `io`.
class TlsListener {
 public:
  // Sets the members about client certificates. Called at the start, once per second and by Update; an error
  // keeps the current settings.
  using ClientSettings = std::function<Expected<void>(http::ServerTlsOptions&)>;
  // `options.tls` is set here. Errors are those of http::Server::Listen and of unusable certificates.
  static Expected<std::unique_ptr<TlsListener>> Listen(http::IoThread& io,
                                                       const client::Environment& environment,
                                                       ServingCertificates certificates,
                                                       ClientSettings client_settings,
                                                       http::ServerOptions options, http::Handler handler);
  ~TlsListener();
  TlsListener(const TlsListener&) = delete;
  TlsListener& operator=(const TlsListener&) = delete;

  // Applies changed client settings now instead of within a second.
  void Update();
  http::Server& server() { return *server_; }

 private:
  TlsListener(http::IoThread& io, const client::Environment& environment, ServingCertificates certificates,
              ClientSettings client_settings);
  Expected<http::ServerTlsOptions> Settings() const;
  Expected<bool> Refresh();
  void Poll();

  http::IoThread& io_;
  const client::Environment& environment_;
  ServingCertificates certificates_;
  const ClientSettings client_settings_;
  http::ServerTlsOptions used_;
  std::unique_ptr<http::Server> server_;
  http::Loop::TimerId timer_ = http::Loop::TimerId::kNone;
  log::Once logged_errors_{16};
};

}  // namespace berth::service
