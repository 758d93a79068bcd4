// What clients and servers need to know for TLS, all as PEM text: reading files is the caller's business.
#pragma once

#include <memory>
#include <string>

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

struct ServerTlsOptions {
  std::string certificate_pem{};  // with its chain
  std::string key_pem{};
  // Signs the certificates of clients. They are asked for one; what they show, if anything, is told with each
  // request.
  std::string client_ca_pem{};
};

// TLS 1.2 or newer, HTTP/1.1 by ALPN.
Expected<std::shared_ptr<boost::asio::ssl::context>> MakeServerTlsContext(const ServerTlsOptions& options);

}  // namespace berth::http
