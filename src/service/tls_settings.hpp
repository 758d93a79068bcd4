// Translates TLS settings from Go's names to OpenSSL's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "http/tls.hpp"

namespace berth::service {

// --tls-cipher-suites: sets ciphers of TLS 1.2 and older (those of 1.3 are not configurable, as in Go).
// Empty: the default of Go 1.26. Suites that OpenSSL no longer supports are skipped with a warning.
Expected<> SetCipherSuites(const std::vector<std::string>& names, http::ServerTlsOptions& tls);

// --tls-min-version.
Expected<> SetMinVersion(const std::string& name, http::ServerTlsOptions& tls);

// --tls-curve-preferences: ids of crypto/tls. Groups that OpenSSL does not support (the post-quantum ones)
// are skipped with a warning; it is an error if none is left.
Expected<> SetCurves(const std::vector<std::int64_t>& ids, http::ServerTlsOptions& tls);

// "cert,key" or "cert,key:name,name".
struct CertificateFiles {
  std::string certificate, key;
  std::vector<std::string> names{};
};
Expected<CertificateFiles> ParseNamedCertificate(const std::string& text);

}  // namespace berth::service
