// The transport that goes over the wire: as Go's http.Client does for kube-scheduler's HTTPExtender.
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

// Files and environment variables, as an argument.
struct World {
  std::function<Expected<std::string>(const std::string& path)> read_file;
  std::function<std::optional<std::string>(const std::string& name)> variable;
};

// What the extender's configuration means for TLS. As in kube-scheduler enableHTTPS without an authority
// switches verification off, and an authority together with `insecure` is an error. Files are read now.
Expected<http::TlsOptions> TlsOf(const config::ExtenderConfig& config, const World& world);

// Connections are kept and reused. Redirects are followed ten times at most, by 301, 302 and 303 with GET;
// proxies come from the environment. `io` outlives what is made; a transport ends its questions with
// kCancelled when it is destroyed.
TransportMaker HttpTransports(http::IoThread& io, World world);

// Every question fails with this.
TransportMaker NoTransports(std::string why);

}  // namespace berth::extenders
