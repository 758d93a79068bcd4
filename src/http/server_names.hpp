// Which certificate a TLS server shows, by the name that the client asks for. Private to http.
#pragma once

#include <openssl/ssl.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace berth::http {

// Contexts by lower-case name; "*.example.com" stands for any first label, and addresses for clients that ask
// for no name. Chosen as Go's crypto/tls chooses: by name, by wildcard, then the first certificate that says
// it is for the name (`standard` before `all`), else `standard`.
struct ServerNames {
  using Context = std::shared_ptr<SSL_CTX>;

  std::map<std::string, Context, std::less<>> by_name;
  std::vector<Context> all;
};

// The table belongs to `standard` from now on.
void ChooseByName(SSL_CTX* standard, ServerNames names);

// On which of our addresses the client called: `address` must live as long as the handshake.
void TellLocalAddress(SSL* connection, const std::string& address);

// The names that a certificate claims: its common name if that could be one, and its DNS names.
std::vector<std::string> NamesOf(X509* certificate);

}  // namespace berth::http
