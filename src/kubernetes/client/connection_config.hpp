// The API server's address and the client's credentials, from --kubeconfig, --master or the pod's service
// account.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "http/client.hpp"
#include "http/origin.hpp"
#include "http/proxy.hpp"
#include "http/tls.hpp"
#include "kubernetes/client/environment.hpp"
#include "kubernetes/client/kubeconfig.hpp"
#include "kubernetes/client/rest.hpp"

namespace berth::client {

// PEM text, given directly or as a file.
struct Pem {
  std::string text{};
  std::string file{};
  bool empty() const { return text.empty() && file.empty(); }
};

// Credentials are set only if the server uses https: like client-go, Berth does not send them in clear text.
struct ConnectionConfig {
  http::Origin origin{};
  Pem ca{}, certificate{}, key{};
  std::string server_name{};
  bool insecure = false;
  std::string token{};
  std::string token_file{};  // takes precedence over `token` once it has been read
  std::string username{}, password{};
  std::optional<ExecConfig> exec{};    // run if there are no other credentials
  KubeCluster cluster{};               // passed to credential plugins
  std::optional<http::Proxy> proxy{};  // from proxy-url, else from the environment
  double qps = 0;                      // per client; 0: no limit
  int burst = 1;
  http::HeaderList impersonation{};  // always sent

  bool from_files() const { return !ca.file.empty() || !certificate.file.empty() || !key.file.empty(); }
};

struct ConnectionFlags {
  std::string kubeconfig{};   // --kubeconfig or clientConnection.kubeconfig: a file that must exist
  std::string master{};       // --master
  bool use_variable = false;  // outside of a pod: the files in $KUBECONFIG, if neither is set
};

// As client-go 0.37's BuildConfigFromFlags: with neither flag the pod's own service account; a kubeconfig
// that selects no cluster falls back to it too. With use_variable the files in $KUBECONFIG are merged as
// clientcmd does: missing ones are skipped. Logs kube-scheduler's warning if neither flag is set. Reads the
// kubeconfig, but none of the files that it names.
Expected<ConnectionConfig> LoadConnection(const ConnectionFlags& flags, const Environment& environment);

// The cluster that kubectl would use, for commands of users.
struct UserConnection {
  ConnectionConfig config;
  std::string ns = "default";  // the namespace of the context
};
// `file` if it is not empty, else the files in $KUBECONFIG, else ~/.kube/config, else the pod's own service
// account. `context` empty: the current one. The error for an unknown context names the nearest one.
Expected<UserConnection> LoadUserConnection(const std::string& file, const std::string& context,
                                            const Environment& environment);

// HTTP_PROXY, HTTPS_PROXY and NO_PROXY, which Go programs use if no proxy is configured.
Expected<std::optional<http::Proxy>> ProxyFromEnvironment(const http::Origin& origin,
                                                          const Environment& environment);

// The service account of the pod that this process runs in: KUBERNETES_SERVICE_HOST and _PORT, and the files
// under /var/run/secrets/kubernetes.io/serviceaccount.
Expected<ConnectionConfig> InClusterConnection(const Environment& environment);

// Reads the certificate, key and CA files.
Expected<http::TlsOptions> ReadTls(const ConnectionConfig& config, const Environment& environment);

// Whether the configuration has credentials of its own, so that no credential plugin is run.
bool HasOwnCredentials(const ConnectionConfig& config);

// The Authorization header from the configuration, without plugins; null: anonymous. A token file is read
// again when the cached token is 50 s old or the server responds 401; the old token is used while the file
// cannot be read. One thread.
Expected<std::shared_ptr<Credentials>> MakeCredentials(const ConnectionConfig& config,
                                                       const Environment& environment, const Clock& clock);

}  // namespace berth::client
