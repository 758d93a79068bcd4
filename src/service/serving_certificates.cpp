#include "service/serving_certificates.hpp"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <fstream>

#include "base/files.hpp"
#include "http/certificates.hpp"
#include "kubernetes/client/environment.hpp"
#include "observability/log/log.hpp"

namespace berth::service {
namespace {

namespace fs = std::filesystem;

Expected<http::KeyPair> MakePair(const std::vector<std::string>& names, const Clock& clock) {
  const auto now = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(clock.WallNow()));
  BERTH_TRY(const auto authority, http::CertificateAuthority::Make(fmt::format("localhost-ca@{}", now)));
  BERTH_TRY(http::KeyPair pair, authority.ForServer(names));
  pair.certificate += authority.pem();  // sent along, so that a client can trust it
  return pair;
}

bool Readable(const std::string& path) { return std::ifstream(path).good(); }

Expected<> MakeDirectory(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (!error) return {};
  std::string why = error.message();
  why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
  return Fail(ErrorCode::kUnavailable, fmt::format("mkdir {}: {}", directory, why));
}

}  // namespace

Expected<ServingCertificates> ServingCertificates::Load(const SecureServingOptions& options,
                                                        const client::Environment& environment,
                                                        const Clock& clock) {
  ServingCertificates certificates;
  certificates.tls_.trust_later = true;
  BERTH_RETURN_IF_ERROR(certificates.Choose(options, clock));
  BERTH_RETURN_IF_ERROR(SetCipherSuites(options.cipher_suites, certificates.tls_));
  BERTH_RETURN_IF_ERROR(SetCurves(options.curve_preferences, certificates.tls_));
  BERTH_RETURN_IF_ERROR(SetMinVersion(options.min_version, certificates.tls_));
  for (const std::string& text : options.sni_cert_keys) {
    BERTH_TRY(certificates.named_.emplace_back(), ParseNamedCertificate(text));
  }
  BERTH_RETURN_IF_ERROR(certificates.Read(environment, certificates.tls_));
  // Detects errors now instead of at the first connection.
  if (auto usable = http::MakeServerTlsContext(certificates.tls_); !usable) {
    return std::unexpected(std::move(usable).error());
  }
  return certificates;
}

Expected<> ServingCertificates::Choose(const SecureServingOptions& options, const Clock& clock) {
  if (!options.cert_file.empty() || !options.key_file.empty()) {
    if (options.cert_file.empty() || options.key_file.empty()) {
      return Invalid(
          "missing filename for serving cert; --tls-cert-file and --tls-private-key-file belong together");
    }
    own_ = {options.cert_file, options.key_file};
    return {};
  }
  std::vector<std::string> names = {"localhost", "127.0.0.1"};
  const std::string& address = options.bind_address;
  if (!address.empty() && address != "0.0.0.0" && address != "::" && address != "127.0.0.1") {
    names.push_back(address);
  }
  if (!options.cert_dir.empty()) {
    auto chosen = ChooseFromDirectory(options.cert_dir, names, clock);
    if (!chosen)
      return std::unexpected(std::move(chosen).error().In("error creating self-signed certificates"));
    return {};
  }
  BERTH_TRY(const http::KeyPair pair, MakePair(names, clock));
  tls_.certificate_pem = pair.certificate;
  tls_.key_pem = pair.key;
  log::Info("Generated self-signed cert in-memory");
  return {};
}

Expected<> ServingCertificates::ChooseFromDirectory(const std::string& directory,
                                                    const std::vector<std::string>& names,
                                                    const Clock& clock) {
  own_ = {fs::path(directory) / "kube-scheduler.crt", fs::path(directory) / "kube-scheduler.key"};
  const bool certificate = Readable(own_.certificate), key = Readable(own_.key);
  if (certificate && key) return {};
  if (certificate || key) {
    return Invalid(fmt::format("error reading {}, certificate and key must be supplied as a pair",
                               certificate ? own_.key : own_.certificate));
  }
  BERTH_TRY(const http::KeyPair pair, MakePair(names, clock));
  BERTH_RETURN_IF_ERROR(MakeDirectory(directory));
  BERTH_RETURN_IF_ERROR(WriteFileAtomically(own_.certificate, pair.certificate, 0644));
  BERTH_RETURN_IF_ERROR(WriteFileAtomically(own_.key, pair.key, 0600));  // never readable by others
  log::Info(fmt::format("Generated self-signed cert ({}, {})", own_.certificate, own_.key));
  return {};
}

Expected<> ServingCertificates::Read(const client::Environment& environment,
                                     http::ServerTlsOptions& into) const {
  if (!own_.certificate.empty()) {
    BERTH_TRY(into.certificate_pem, environment.ReadFile(own_.certificate));
    BERTH_TRY(into.key_pem, environment.ReadFile(own_.key));
  }
  into.named.clear();
  for (const CertificateFiles& files : named_) {
    const auto failed = [](Error error) {
      return std::unexpected(std::move(error).In("failed to load SNI cert and key"));
    };
    auto certificate = environment.ReadFile(files.certificate);
    if (!certificate) return failed(std::move(certificate).error());
    auto key = environment.ReadFile(files.key);
    if (!key) return failed(std::move(key).error());
    into.named.push_back({std::move(*certificate), std::move(*key), files.names});
  }
  return {};
}

Expected<bool> ServingCertificates::Reload(const client::Environment& environment) {
  if (own_.certificate.empty() && named_.empty()) return false;
  http::ServerTlsOptions fresh = tls_;
  BERTH_RETURN_IF_ERROR(Read(environment, fresh));
  if (fresh == tls_) return false;
  // A certificate whose key has not been written yet is unusable: retried at the next check.
  if (auto usable = http::MakeServerTlsContext(fresh); !usable) {
    return std::unexpected(std::move(usable).error());
  }
  tls_ = std::move(fresh);
  return true;
}

}  // namespace berth::service
