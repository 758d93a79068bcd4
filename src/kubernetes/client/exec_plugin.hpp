// Credential plugins: a program that says who we are (client.authentication.k8s.io/v1 and v1beta1).
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

// The metrics of credential plugins are there without one, too. Before the first ExecPlugin is made.
void AddExecPluginMetrics(metrics::Registry& registry);

// What a plugin said.
struct ExecCredential {
  std::string token{};
  std::string certificate_pem{}, key_pem{};  // both or neither
  std::optional<WallTime> expires{};         // none: for ever
};

// KUBERNETES_EXEC_INFO: what a plugin is told. `cluster` is null unless it wants to know.
std::string ExecInfo(const ExecConfig& config, bool interactive, const KubeCluster* cluster);

// Reads a plugin's output; the texts of errors are client-go's.
Expected<ExecCredential> ParseExecCredential(std::string_view output, std::string_view api_version);

// Asks the plugin when somebody needs credentials and there are none, or they have expired, or the server
// answered 401; one at a time, on a thread of its own, so that the loop goes on. Several requests that wait
// share one run. Counts rest_client_exec_plugin_*. Lives on the loop; the destructor ends a plugin that runs.
class ExecPlugin final : public Credentials {
 public:
  // Called on the loop before a certificate is needed for the first time and whenever it has changed.
  using UseCertificate =
      std::function<Expected<>(const std::string& certificate_pem, const std::string& key_pem)>;

  // `cluster` is what a plugin that asks for it is told.
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
