// Where the API server is and who we are: the outcome of --kubeconfig, --master and the pod we run in.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kubernetes/client/environment.hpp"
#include "kubernetes/client/kubeconfig.hpp"
#include "kubernetes/client/rest.hpp"
#include "http/client.hpp"
#include "http/origin.hpp"
#include "http/proxy.hpp"
#include "http/tls.hpp"

namespace berth::client {

// PEM text given directly, or the file it is in.
struct Pem {
  std::string text{};
  std::string file{};
  bool empty() const { return text.empty() && file.empty(); }
};

// Credentials are here only if the server speaks https: client-go does not send them in the clear either.
struct ConnectionConfig {
  http::Origin origin{};
  Pem ca{}, certificate{}, key{};
  std::string server_name{};
  bool insecure = false;
  std::string token{};
  std::string token_file{};  // wins over `token` once it has been read
  std::string username{}, password{};
  std::optional<ExecConfig> exec{};    // asked if there are no other credentials
  KubeCluster cluster{};               // what a plugin is told of it
  std::optional<http::Proxy> proxy{};  // of proxy-url, else of the environment
  double qps = 0;                      // of each client; 0: no limit
  int burst = 1;
  http::HeaderList impersonation{};  // sent in any case

  bool from_files() const { return !ca.file.empty() || !certificate.file.empty() || !key.file.empty(); }
};

struct ConnectionFlags {
  std::string kubeconfig{};  // --kubeconfig or clientConnection.kubeconfig: a file that must exist
  std::string master{};      // --master
};

// As client-go 0.37's BuildConfigFromFlags: with neither flag the pod's own service account; a kubeconfig
// that selects no cluster falls back to it too. Outside of a pod, where kube-scheduler gives up, the files in
// $KUBECONFIG are taken, merged as clientcmd merges them: missing ones are passed over. Warns in
// kube-scheduler's words where none of this was given. Reads the kubeconfig, but none of the files that it
// names.
Expected<ConnectionConfig> LoadConnection(const ConnectionFlags& flags, const Environment& environment);

// HTTP_PROXY, HTTPS_PROXY and NO_PROXY, which Go's programs follow where nothing else is said.
Expected<std::optional<http::Proxy>> ProxyFromEnvironment(const http::Origin& origin,
                                                          const Environment& environment);

// The service account of the pod we run in: KUBERNETES_SERVICE_HOST and _PORT, and the files under
// /var/run/secrets/kubernetes.io/serviceaccount.
Expected<ConnectionConfig> InClusterConnection(const Environment& environment);

// Reads what is in files.
Expected<http::TlsOptions> ReadTls(const ConnectionConfig& config, const Environment& environment);

// Has it a credential of its own that keeps a plugin from being asked?
bool HasOwnCredentials(const ConnectionConfig& config);

// The Authorization header as the configuration has it, plugins aside; null: nobody. A token file is read
// again when the copy is 50 s old or the server says 401; while it cannot be read the old token serves. One
// thread.
Expected<std::shared_ptr<Credentials>> MakeCredentials(const ConnectionConfig& config,
                                                       const Environment& environment, const Clock& clock);

}  // namespace berth::client
