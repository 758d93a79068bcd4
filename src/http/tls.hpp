// What clients and servers need to know for TLS, all as PEM text: reading files is the caller's business.
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
  std::string certificate_pem{};  // ours, with its chain; empty: none
  std::string key_pem{};
  std::string server_name{};  // for SNI and verification instead of the host; empty: the host
  bool insecure = false;      // the server's certificate is not looked at

  friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

// TLS 1.2 or newer. Errors name the part that could not be used and why.
Expected<std::shared_ptr<boost::asio::ssl::context>> MakeTlsContext(const TlsOptions& options);

// A certificate for some names only.
struct NamedCertificate {
  std::string certificate_pem{};
  std::string key_pem{};
  std::vector<std::string> names{};  // host names, with "*" for a first label, or addresses; empty: its own
  friend bool operator==(const NamedCertificate&, const NamedCertificate&) = default;
};

struct ServerTlsOptions {
  std::string certificate_pem{};  // with its chain; empty: the first of `named` is shown to everybody else
  std::string key_pem{};
  std::vector<NamedCertificate> named{};  // of two that have the same name the earlier one is shown
  // Signs the certificates of clients. They are asked for one; what they show, if anything, is told with each
  // request.
  std::string client_ca_pem{};
  // Clients are asked in any case, and client_ca_pem only tells them which certificate to take: whoever
  // handles the request looks at what they show. PeerCertificate::trusted is false then.
  bool trust_later = false;
  int min_version = 0;    // as on the wire, 0x0303 for TLS 1.2; 0: that
  std::string ciphers{};  // for TLS 1.2 and older, OpenSSL's names; empty: none, if `set_ciphers`
  bool set_ciphers = false;
  std::string groups{};  // OpenSSL's names, best first; empty: the library's choice
  friend bool operator==(const ServerTlsOptions&, const ServerTlsOptions&) = default;
};

// HTTP/1.1 by ALPN. Errors name the part that could not be used and why.
Expected<std::shared_ptr<boost::asio::ssl::context>> MakeServerTlsContext(const ServerTlsOptions& options);

}  // namespace berth::http
