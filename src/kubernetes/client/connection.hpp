// An open door to an API server: HTTP client, REST client, and the credentials that change behind their
// backs.
#pragma once

#include <memory>
#include <string>

#include "kubernetes/client/connection_config.hpp"

namespace berth::http {
class IoThread;
}
namespace berth::metrics {
class Registry;
}

namespace berth::client {

class Api;

// kube-scheduler has one for watches and writes (suffix "scheduler"), one for events (no suffix), one for its
// lease
// ("leader-election"), so that none waits for another; so do we. Certificates and CA in files are read again
// every five minutes; when they have changed, new connections use them. Everything handed in outlives it;
// what uses api() must be destroyed before it.
class Connection {
 public:
  static Expected<std::unique_ptr<Connection>> Open(http::IoThread& io, const ConnectionConfig& config,
                                                    const Environment& environment,
                                                    metrics::Registry& registry, const Clock& clock,
                                                    std::string_view agent_suffix);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Api& api();

 private:
  struct Impl;
  explicit Connection(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::client
