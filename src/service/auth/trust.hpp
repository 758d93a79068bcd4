// Whose certificates are trusted, as files and the cluster say at the moment.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "kubernetes/client/api.hpp"
#include "http/authorities.hpp"
#include "observability/log/log.hpp"
#include "service/auth/config_map_watch.hpp"
#include "service/auth/front_proxy.hpp"
#include "service/serving_options.hpp"

namespace berth::client {
class Environment;
}

namespace berth::service {

// --client-ca-file and --requestheader-client-ca-file, read again when they change; what is not given by a
// file comes from the ConfigMap kube-system/extension-apiserver-authentication, which is watched. What cannot
// be read or understood changes nothing. Lives on the loop; everything handed in outlives it.
class Trust {
 public:
  struct Parts {
    http::Loop& loop;
    const client::Environment& environment;
    Random& random;
    client::Api* api = nullptr;  // null: the cluster is not asked
  };
  // `changed` is called when clients should be asked for other certificates than before.
  Trust(const AuthenticationOptions& options, Parts parts, std::function<void()> changed);
  ~Trust();
  Trust(const Trust&) = delete;
  Trust& operator=(const Trust&) = delete;

  // Whether the files can be used. Errors in the original's words.
  static Expected<> CheckFiles(const AuthenticationOptions& options, const client::Environment& environment);

  // The files as they are now. Errors in the original's words.
  Expected<> ReadFiles();
  // What the ConfigMap says, from whoever has read it.
  Expected<> Take(const ConfigMapData& data);
  // Follows the files and the ConfigMap from now on.
  void Start();

  // Whether certificates are asked for at all, now or once the cluster has said more.
  bool WantsCertificates() const { return wants_certificates_; }
  // Null: nobody's, for the time being.
  const std::shared_ptr<const http::AuthorityPool>& clients() const { return clients_; }
  const FrontProxy& front_proxy() const { return front_proxy_; }
  // Of both, for the handshake.
  std::string AuthoritiesPem() const;
  // The ConfigMap has something to say that no file says.
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
  log::Once complaints_{16};
};

}  // namespace berth::service
