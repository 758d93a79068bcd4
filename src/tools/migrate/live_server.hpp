// The API server of a kubeconfig, as Server.
#pragma once

#include <memory>
#include <string>

#include "base/clock.hpp"
#include "http/io_thread.hpp"
#include "kubernetes/client/connection.hpp"
#include "kubernetes/client/environment.hpp"
#include "observability/metrics/registry.hpp"
#include "tools/migrate/server.hpp"

namespace berth::migrate {

// The arguments must outlive it.
class LiveServer final : public Server {
 public:
  // `kubeconfig` empty: the pod's own service account, else the files of $KUBECONFIG.
  static Expected<std::unique_ptr<LiveServer>> Connect(const std::string& kubeconfig, http::IoThread& io,
                                                       const client::Environment& environment,
                                                       const Clock& clock);

  // The server of a connection that is loaded already. `agent`: the suffix of the user agent.
  static Expected<std::unique_ptr<LiveServer>> Open(const client::ConnectionConfig& where,
                                                    std::string_view agent, http::IoThread& io,
                                                    const client::Environment& environment,
                                                    const Clock& clock);

  client::Reply Send(client::ApiRequest request) override;
  const std::string& url() const { return url_; }

 private:
  std::string url_;
  metrics::Registry unseen_;
  std::unique_ptr<client::Connection> connection_;
};

}  // namespace berth::migrate
