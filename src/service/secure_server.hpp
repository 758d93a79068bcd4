// HTTPS with delegated authentication and authorization, as kube-scheduler v1.37.1 serves on 10259.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "service/serving_limits.hpp"
#include "service/serving_options.hpp"

namespace berth {
class Clock;
}
namespace berth::client {
class Environment;
}
namespace berth::http {
class IoThread;
}
namespace berth::metrics {
class Registry;
}

namespace berth::service {

class Endpoints;

// Serves until it is destroyed, on any thread but `io`'s; the destructor completes current responses.
// Certificates and authorities are read again when their files or the cluster's ConfigMap change; existing
// connections are not affected. HTTP/1.1 only: kube-scheduler's HTTP/2 settings have no effect.
class SecureServer {
 public:
  struct Parts {
    http::IoThread& io;  // where responses are produced and API requests are sent
    const client::Environment& environment;
    const Clock& clock;
    metrics::Registry& metrics;
    Endpoints& endpoints;  // used on `io` from now on
  };
  // Null if the port is 0. Errors have kube-scheduler's texts. Waits at most ten seconds for the cluster's
  // ConfigMap.
  static Expected<std::unique_ptr<SecureServer>> Start(const SecureServingOptions& serving,
                                                       const AuthenticationOptions& authentication,
                                                       const AuthorizationOptions& authorization, Parts parts,
                                                       const ServingLimits& limits = {});
  // Makes the checks of Start that need neither the API server nor listening. Like Start, writes a
  // certificate to --cert-dir if there is none.
  static Expected<> Check(const SecureServingOptions& serving, const AuthenticationOptions& authentication,
                          const AuthorizationOptions& authorization, const client::Environment& environment,
                          const Clock& clock);
  ~SecureServer();
  SecureServer(const SecureServer&) = delete;
  SecureServer& operator=(const SecureServer&) = delete;

  std::uint16_t port() const;
  // "[::]:10259".
  std::string address() const;

 private:
  struct Impl;
  explicit SecureServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::service
