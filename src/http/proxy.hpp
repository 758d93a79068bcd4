// A proxy between the client and an origin.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth::http {

// kHttp: https uses a tunnel (CONNECT), http uses requests with an absolute URL. kSocks5: always a tunnel;
// the proxy resolves names.
struct Proxy {
  enum class Kind { kHttp, kSocks5 };
  Kind kind = Kind::kHttp;
  std::string host{};
  std::uint16_t port = 0;
  std::string username{}, password{};

  std::string HostPort() const;
  // The value of a Proxy-Authorization header; empty: none.
  std::string Authorization() const;
  friend bool operator==(const Proxy&, const Proxy&) = default;
};

// Parses "http://[user:password@]host[:port]", "socks5://...", "socks5h://...". A proxy that uses TLS itself
// (https://) is rejected.
Expected<Proxy> ParseProxy(std::string_view url);

struct Origin;

// The proxy for an origin by HTTP_PROXY, HTTPS_PROXY and NO_PROXY (or their lower-case forms); Go programs
// use these if no proxy is configured.
Expected<std::optional<Proxy>> ProxyFromVariables(
    const Origin& origin, const std::function<std::optional<std::string>(const std::string&)>& variable);

// Whether NO_PROXY excludes this host. With Go's rules: names with their subdomains, ".names", "*",
// addresses, networks in CIDR form, each with or without a port. localhost and loopback addresses never use a
// proxy.
bool BypassesProxy(std::string_view no_proxy, std::string_view host, std::uint16_t port);

}  // namespace berth::http
