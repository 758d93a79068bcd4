// Selects a TLS server's certificate by the server name that the client requests. Private to http.
#pragma once

#include <openssl/ssl.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace berth::http {

// Contexts by lower-case name; "*.example.com" matches any first label, and addresses match clients without a
// server name. Selected as in Go's crypto/tls: by name, by wildcard, then the first certificate that is valid
// for the name (`standard` before `all`), else `standard`.
struct ServerNames {
  using Context = std::shared_ptr<SSL_CTX>;

  std::map<std::string, Context, std::less<>> by_name;
  std::vector<Context> all;
};

// Attaches the table to `standard`, which owns it from now on.
void ChooseByName(SSL_CTX* standard, ServerNames names);

// Sets the local address of the connection; `address` must live as long as the handshake.
void SetLocalAddress(SSL* connection, const std::string& address);

// The names in a certificate: its common name if that can be a host name, and its DNS names.
std::vector<std::string> NamesOf(X509* certificate);

}  // namespace berth::http
