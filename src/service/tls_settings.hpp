// TLS settings by Go's names, as OpenSSL knows them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "http/tls.hpp"

namespace berth::service {

// --tls-cipher-suites: sets ciphers of TLS 1.2 and older (those of 1.3 are not for choice, as in Go). Empty:
// what Go 1.26 offers by default. Suites that OpenSSL does not have any more are passed over with a warning.
Expected<> SetCipherSuites(const std::vector<std::string>& names, http::ServerTlsOptions& tls);

// --tls-min-version.
Expected<> SetMinVersion(const std::string& name, http::ServerTlsOptions& tls);

// --tls-curve-preferences: ids of crypto/tls. Groups that OpenSSL does not have (the post-quantum ones) are
// passed over with a warning; if none is left that is an error.
Expected<> SetCurves(const std::vector<std::int64_t>& ids, http::ServerTlsOptions& tls);

// "cert,key" or "cert,key:name,name".
struct CertificateFiles {
  std::string certificate, key;
  std::vector<std::string> names{};
};
Expected<CertificateFiles> ParseNamedCertificate(const std::string& text);

}  // namespace berth::service
