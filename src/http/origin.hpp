// The target of requests: the scheme, host and port of a URL, and a path prefix for every request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth::http {

inline constexpr std::uint16_t kHttpPort = 80;
inline constexpr std::uint16_t kHttpsPort = 443;

struct Origin {
  bool tls = false;
  std::string host{};  // a name or an address, IPv6 without brackets
  std::uint16_t port = 0;
  std::string prefix{};  // path without a trailing slash; empty for the root

  // "host:port" for the Host header; the scheme's default port is omitted, IPv6 is bracketed.
  std::string Authority() const;
  // "host:port" always, for messages and metrics.
  std::string HostPort() const;
};

// Accepts "https://host[:port][/prefix]" and "http://...". A text without scheme is an http origin, or https
// if the port is 443, as in client-go.
Expected<Origin> ParseOrigin(std::string_view url);

// Whether a host is an IPv4 or IPv6 address, the latter without brackets and possibly with a zone, and no
// name.
bool IsIpAddress(std::string_view host);

// Percent-encodes everything but unreserved characters, for use in a query value.
std::string EncodeQuery(std::string_view text);

}  // namespace berth::http
