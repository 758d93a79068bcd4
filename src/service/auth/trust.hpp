// The trusted authorities for client certificates, from files and from the cluster.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "http/authorities.hpp"
#include "kubernetes/client/api.hpp"
#include "observability/log/log.hpp"
#include "service/auth/config_map_watch.hpp"
#include "service/auth/front_proxy.hpp"
#include "service/serving_options.hpp"

namespace berth::client {
class Environment;
}

namespace berth::service {

// --client-ca-file and --requestheader-client-ca-file, read again when they change. What is not given by a
// file comes from the ConfigMap kube-system/extension-apiserver-authentication, which is watched. Unreadable
// or invalid data leave the current state unchanged. Lives on the loop; arguments must outlive it.
class Trust {
 public:
  struct Parts {
    http::Loop& loop;
    const client::Environment& environment;
    Random& random;
    client::Api* api = nullptr;  // null: the ConfigMap is not read
  };
  // `changed` is called when the authorities that are announced to clients have changed.
  Trust(const AuthenticationOptions& options, Parts parts, std::function<void()> changed);
  ~Trust();
  Trust(const Trust&) = delete;
  Trust& operator=(const Trust&) = delete;

  // Whether the files are usable. Errors have kube-scheduler's texts.
  static Expected<> CheckFiles(const AuthenticationOptions& options, const client::Environment& environment);

  // Reads the current files. Errors have kube-scheduler's texts.
  Expected<> ReadFiles();
  // Applies the data of the ConfigMap, which the caller has read.
  Expected<> Take(const ConfigMapData& data);
  // Watches the files and the ConfigMap from now on.
  void Start();

  // Whether clients are asked for certificates, now or after the ConfigMap has been read.
  bool RequestsClientCertificates() const { return wants_certificates_; }
  // Null: no client certificate is trusted at present.
  const std::shared_ptr<const http::AuthorityPool>& clients() const { return clients_; }
  const FrontProxy& front_proxy() const { return front_proxy_; }
  // The PEM of both authorities, for the handshake.
  std::string AuthoritiesPem() const;
  // Whether settings that no file gives come from the ConfigMap.
  bool NeedsCluster() const { return clients_from_cluster_ || proxy_from_cluster_; }
  bool proxy_from_cluster() const { return proxy_from_cluster_; }

 private:
  Expected<> ReadFile(const std::string& file, const char* purpose,
                      std::shared_ptr<const http::AuthorityPool>& pool);
  Expected<> TakePool(const ConfigMapData& data, const std::string& key,
                      std::shared_ptr<const http::AuthorityPool>& pool);
  void Poll();

  const AuthenticationOptions options_;
  const Parts parts_;
  const std::function<void()> changed_;
  const bool clients_from_cluster_;
  const bool proxy_from_cluster_;
  const bool wants_certificates_;
  std::shared_ptr<const http::AuthorityPool> clients_;
  FrontProxy front_proxy_;
  std::unique_ptr<ConfigMapWatch> watch_;
  std::uint64_t timer_ = 0;
  log::Once logged_errors_{16};
};

}  // namespace berth::service
