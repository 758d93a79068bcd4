// The server's certificates.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "http/tls.hpp"
#include "service/serving_options.hpp"
#include "service/tls_settings.hpp"

namespace berth::client {
class Environment;
}

namespace berth::service {

// From --tls-cert-file and --tls-private-key-file; else from --cert-dir, where a self-signed pair is written
// if there is none; else self-signed and kept in memory. In addition those of --tls-sni-cert-key. One thread.
class ServingCertificates {
 public:
  static Expected<ServingCertificates> Load(const SecureServingOptions& options,
                                            const client::Environment& environment, const Clock& clock);

  // Reads the files again. True if they have changed; an error if they cannot be used, in which case nothing
  // changes.
  Expected<bool> Reload(const client::Environment& environment);

  // Includes the other TLS settings; client certificates are verified later.
  const http::ServerTlsOptions& tls() const { return tls_; }

 private:
  Expected<> Choose(const SecureServingOptions& options, const Clock& clock);
  Expected<> ChooseFromDirectory(const std::string& directory, const std::vector<std::string>& names,
                                 const Clock& clock);
  Expected<> Read(const client::Environment& environment, http::ServerTlsOptions& into) const;

  CertificateFiles own_{};  // empty: in memory
  std::vector<CertificateFiles> named_{};
  http::ServerTlsOptions tls_{};
};

}  // namespace berth::service
