// Self-signed certificates: a local authority and the certificates it signs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace berth::http {

// PEM.
struct KeyPair {
  std::string certificate;
  std::string key;
};

// The key (P-256) never leaves the process and is lost with it. Certificates are valid from one hour ago for
// ten years.
class CertificateAuthority {
 public:
  static Expected<CertificateAuthority> Make(std::string_view name);

  std::string pem() const;
  // `names`: host names and IP addresses.
  Expected<KeyPair> ForServer(const std::vector<std::string>& names) const;
  // As Kubernetes interprets client certificates: the common name is the user, each organization a group.
  Expected<KeyPair> ForClient(std::string_view user, const std::vector<std::string>& groups) const;

 private:
  struct Pair;
  explicit CertificateAuthority(std::shared_ptr<const Pair> pair) : pair_(std::move(pair)) {}
  std::shared_ptr<const Pair> pair_;
};

}  // namespace berth::http
