// The values of kube-scheduler's serving, authentication and authorization flags (v1.37.1, defaults
// included).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace berth::service {

struct SecureServingOptions {
  std::string bind_address = "0.0.0.0";
  std::int64_t port = 10259;  // 0: no serving
  std::string cert_dir;       // empty, without certificate files: a self-signed certificate in memory
  std::string cert_file;
  std::string key_file;
  std::vector<std::string> cipher_suites;  // Go's names; empty: the library's default
  std::string min_version;                 // VersionTLS12, VersionTLS13; empty: 1.2
  std::vector<std::int64_t>
      curve_preferences;                   // numeric ids as in Go's crypto/tls; empty: the library's default
  std::vector<std::string> sni_cert_keys;  // "cert,key[:domain,...]"
  bool permit_port_sharing = false;        // SO_REUSEPORT
  bool permit_address_sharing = false;     // SO_REUSEADDR before the port is free
};

struct RequestHeaderOptions {
  std::string client_ca_file;
  std::vector<std::string> allowed_names;
  std::vector<std::string> username_headers = {"x-remote-user"};
  std::vector<std::string> uid_headers;
  std::vector<std::string> group_headers = {"x-remote-group"};
  std::vector<std::string> extra_header_prefixes = {"x-remote-extra-"};
};

struct AuthenticationOptions {
  std::string kubeconfig;  // empty: no TokenReview, and the cluster's ConfigMap is not read
  bool skip_lookup = false;
  std::chrono::nanoseconds token_cache_ttl = std::chrono::seconds(10);
  bool tolerate_lookup_failure = true;
  std::string client_ca_file;
  RequestHeaderOptions request_header;
};

struct AuthorizationOptions {
  std::string kubeconfig;  // empty: only system:masters and the paths below are allowed
  std::chrono::nanoseconds authorized_ttl = std::chrono::seconds(10);
  std::chrono::nanoseconds unauthorized_ttl = std::chrono::seconds(10);
  std::vector<std::string> always_allow_paths = {"/healthz", "/readyz", "/livez"};
};

}  // namespace berth::service
