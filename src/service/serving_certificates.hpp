// The certificates that we show.
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

// From --tls-cert-file and --tls-private-key-file; else from --cert-dir, where a pair of our own making is
// put if there is none; else made and kept in memory. Beside them those of --tls-sni-cert-key. One thread.
class ServingCertificates {
 public:
  static Expected<ServingCertificates> Load(const SecureServingOptions& options,
                                            const client::Environment& environment, const Clock& clock);

  // Reads the files again. True if they have changed; an error if they cannot be used: then everything stays
  // as it was.
  Expected<bool> Reload(const client::Environment& environment);

  // With the other settings of the handshake; what clients show is looked at later.
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
