#include "service/tls_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/trim.hpp"
#include "observability/log/log.hpp"

namespace berth::service {
namespace {

struct Suite {
  std::string_view go;
  std::string_view openssl;  // empty: TLS 1.3 suite, always enabled
  bool insecure = false;
};
constexpr std::string_view kGone = "-";  // not supported by OpenSSL 3

// In Go's order of preference.
constexpr Suite kSuites[] = {
    {"TLS_AES_128_GCM_SHA256", ""},
    {"TLS_AES_256_GCM_SHA384", ""},
    {"TLS_CHACHA20_POLY1305_SHA256", ""},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA"},
    {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA"},
    {"TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256", true},
    {"TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384", true},
    {"TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA", true},
    {"TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA", true},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256", true},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256", true},
    {"TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256", true},
    {"TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", kGone, true},
    {"TLS_RSA_WITH_3DES_EDE_CBC_SHA", kGone, true},
    {"TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", kGone, true},
    {"TLS_ECDHE_RSA_WITH_RC4_128_SHA", kGone, true},
    {"TLS_RSA_WITH_RC4_128_SHA", kGone, true},
};

void Append(std::string& list, std::string_view name) {
  if (!list.empty()) list += ':';
  list += name;
}

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const auto comma = text.find(',');
    parts.emplace_back(Trimmed(text.substr(0, comma)));
    if (comma == text.npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

Expected<> SetCipherSuites(const std::vector<std::string>& names, http::ServerTlsOptions& tls) {
  std::set<std::string_view> wanted;
  if (names.empty()) {
    for (const Suite& suite : kSuites) {
      if (!suite.insecure && !suite.openssl.empty()) wanted.insert(suite.openssl);
    }
  }
  for (const std::string& name : names) {
    const auto* suite = std::ranges::find(kSuites, std::string_view(name), &Suite::go);
    if (suite == std::end(kSuites)) {
      return Invalid(fmt::format("Cipher suite {} not supported or doesn't exist", name));
    }
    if (suite->insecure) log::Warning(fmt::format("Use of insecure cipher '{}' detected.", name));
    if (suite->openssl == kGone) {
      log::Warning("OpenSSL does not support this cipher suite; ignoring it", {{"suite", name}});
    } else if (!suite->openssl.empty()) {
      wanted.insert(suite->openssl);
    }
  }
  tls.set_ciphers = true;
  for (const Suite& suite : kSuites) {
    if (wanted.erase(suite.openssl) > 0) Append(tls.ciphers, suite.openssl);
  }
  return {};
}

Expected<> SetMinVersion(const std::string& name, http::ServerTlsOptions& tls) {
  constexpr std::string_view kVersions[] = {"VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"};
  if (name.empty()) return {};
  const auto* found = std::ranges::find(kVersions, name);
  if (found == std::end(kVersions)) return Invalid(fmt::format("unknown tls version \"{}\"", name));
  tls.min_version = 0x0301 + static_cast<int>(found - std::begin(kVersions));
  return {};
}

Expected<> SetCurves(const std::vector<std::int64_t>& ids, http::ServerTlsOptions& tls) {
  struct Curve {
    std::int64_t id;
    std::string_view openssl;
  };
  // The order in the flag is irrelevant: this is Go's order.
  constexpr Curve kCurves[] = {{4588, kGone}, {4587, kGone}, {4589, kGone}, {29, "X25519"},
                               {23, "P-256"}, {24, "P-384"}, {25, "P-521"}};
  std::set<std::int64_t> wanted;
  for (const std::int64_t id : ids) {
    if (id <= 0 || id > 65535) {
      return Invalid(fmt::format("curve preference {} is out of range (must be 1-65535)", id));
    }
    if (!wanted.insert(id).second) return Invalid(fmt::format("duplicate curve preference {}", id));
    if (std::ranges::find(kCurves, id, &Curve::id) == std::end(kCurves)) {
      return Invalid(fmt::format("curve preference {} is not supported by the current Go version", id));
    }
  }
  for (const Curve& curve : kCurves) {
    if (!wanted.contains(curve.id)) continue;
    if (curve.openssl == kGone) {
      log::Warning("OpenSSL does not support this key exchange; ignoring it", {{"curve", curve.id}});
    } else {
      Append(tls.groups, curve.openssl);
    }
  }
  if (!ids.empty() && tls.groups.empty()) {
    return Invalid(
        "curve preferences: OpenSSL supports none of them; expected at least one of 23, 24, 25, 29");
  }
  return {};
}

Expected<CertificateFiles> ParseNamedCertificate(const std::string& text) {
  CertificateFiles files;
  const auto colon = text.find(':');
  if (colon != text.npos) {
    const std::string_view names = Trimmed(std::string_view(text).substr(colon + 1));
    if (names.empty()) return Invalid("empty names list is not allowed");
    files.names = SplitAtCommas(names);
  }
  const auto paths = SplitAtCommas(std::string_view(text).substr(0, colon));
  if (paths.size() != 2) return Invalid("expected comma separated certificate and key file paths");
  files.certificate = paths[0];
  files.key = paths[1];
  return files;
}

}  // namespace berth::service
