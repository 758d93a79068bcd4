// A connection to an API server: HTTP client, REST client, and credentials that are renewed in the
// background.
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

// Like kube-scheduler, Berth has one for watches and writes (suffix "scheduler"), one for events (no suffix)
// and one for its lease ("leader-election"), so that they cannot delay each other. Certificate and CA files
// are read every five minutes; new connections use changed ones. Arguments must outlive the connection; users
// of api() must be destroyed before it.
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
