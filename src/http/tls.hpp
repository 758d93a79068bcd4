// TLS settings of clients and servers, all as PEM text: the caller reads files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace boost::asio::ssl {
class context;
}

namespace berth::http {

struct TlsOptions {
  std::string ca_pem{};           // trusted roots; empty: the system's
  std::string certificate_pem{};  // own certificate with its chain; empty: none
  std::string key_pem{};
  std::string server_name{};  // for SNI and verification instead of the host; empty: the host
  bool insecure = false;      // the server's certificate is not verified

  friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

// TLS 1.2 or newer. Errors name the unusable part and the reason.
Expected<std::shared_ptr<boost::asio::ssl::context>> MakeTlsContext(const TlsOptions& options);

// A certificate for certain names.
struct NamedCertificate {
  std::string certificate_pem{};
  std::string key_pem{};
  // host names, "*" as first label is a wildcard, or addresses; empty: the names in the certificate
  std::vector<std::string> names{};
  friend bool operator==(const NamedCertificate&, const NamedCertificate&) = default;
};

struct ServerTlsOptions {
  std::string certificate_pem{};  // with its chain; empty: the first of `named` is the default
  std::string key_pem{};
  std::vector<NamedCertificate> named{};  // of two with the same name the earlier one is used
  // Authorities of client certificates. If set, clients are asked for a certificate; the one they present, if
  // any, is passed with each request.
  std::string client_ca_pem{};
  // Clients are always asked for a certificate, and client_ca_pem is only the hint sent to them. The request
  // handler must verify what they present; PeerCertificate::trusted is false.
  bool trust_later = false;
  int min_version = 0;    // protocol value, 0x0303 for TLS 1.2; 0: TLS 1.2
  std::string ciphers{};  // for TLS 1.2 and older, OpenSSL's names; empty: none, if `set_ciphers`
  bool set_ciphers = false;
  std::string groups{};  // OpenSSL's names, best first; empty: the library's default
  friend bool operator==(const ServerTlsOptions&, const ServerTlsOptions&) = default;
};

// HTTP/1.1 by ALPN. Errors name the unusable part and the reason.
Expected<std::shared_ptr<boost::asio::ssl::context>> MakeServerTlsContext(const ServerTlsOptions& options);

}  // namespace berth::http
