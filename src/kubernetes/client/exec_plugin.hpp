// Credential plugins: programs that return the client's credentials (client.authentication.k8s.io/v1 and
// v1beta1).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kubernetes/client/kubeconfig.hpp"
#include "kubernetes/client/rest.hpp"

namespace berth::http {
class Loop;
}
namespace berth::metrics {
class Registry;
}

namespace berth::client {

class Environment;

// Registers the metrics of credential plugins, which exist even without a plugin. Call before the first
// ExecPlugin is created.
void AddExecPluginMetrics(metrics::Registry& registry);

// The output of a plugin.
struct ExecCredential {
  std::string token{};
  std::string certificate_pem{}, key_pem{};  // both or neither
  std::optional<WallTime> expires{};         // none: no expiry
};

// KUBERNETES_EXEC_INFO: the input of a plugin. `cluster` is null unless the plugin is configured to receive
// it.
std::string ExecInfo(const ExecConfig& config, bool interactive, const KubeCluster* cluster);

// Parses a plugin's output; error texts are client-go's.
Expected<ExecCredential> ParseExecCredential(std::string_view output, std::string_view api_version);

// Runs the plugin when credentials are requested and there are none, they have expired, or the server
// responded 401. One run at a time, on its own thread, so that the loop is not blocked. Concurrent requests
// share one run. Counts rest_client_exec_plugin_*. Lives on the loop; the destructor kills a running plugin.
class ExecPlugin final : public Credentials {
 public:
  // Called on the loop before a certificate is needed for the first time and whenever it has changed.
  using UseCertificate =
      std::function<Expected<>(const std::string& certificate_pem, const std::string& key_pem)>;

  // `cluster` is passed to plugins that request it.
  ExecPlugin(http::Loop& loop, const Environment& environment, const Clock& clock,
             metrics::Registry& registry, ExecConfig config, KubeCluster cluster,
             UseCertificate use_certificate);
  ~ExecPlugin() override;

  void WhenReady(std::move_only_function<void(Expected<>)> then) override;
  std::string Authorization() override;
  std::uint64_t Serial() const override;
  void OnUnauthorized(std::uint64_t serial) override;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::client
