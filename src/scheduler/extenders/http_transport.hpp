// The HTTP transport. Behaves like Go's http.Client in kube-scheduler's HTTPExtender.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "scheduler/extenders/transport.hpp"

namespace berth::http {
class IoThread;
struct TlsOptions;
}  // namespace berth::http

namespace berth::extenders {

// Access to files and environment variables.
struct Environment {
  std::function<Expected<std::string>(const std::string& path)> read_file;
  std::function<std::optional<std::string>(const std::string& name)> variable;
};

// The TLS options of an extender's configuration. As in kube-scheduler, enableHTTPS without a certificate
// authority disables verification, and an authority together with `insecure` is an error. Files are read
// during the call.
Expected<http::TlsOptions> TlsOf(const config::ExtenderConfig& config, const Environment& environment);

// Connections are reused. At most ten redirects are followed, those with status 301, 302 and 303 with GET.
// A redirect to another origin is followed without client certificate. Proxies are taken from the
// environment. A longer response is an error. `io` must outlive all transports; a transport's destructor ends
// its requests with kCancelled.
inline constexpr std::size_t kDefaultMaxReplyBytes = 64U << 20;
TransportMaker HttpTransports(http::IoThread& io, Environment environment,
                              std::size_t max_reply_bytes = kDefaultMaxReplyBytes);

// Every request fails with this error text.
TransportMaker NoTransports(std::string error);

}  // namespace berth::extenders
