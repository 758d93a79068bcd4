// A proxy between us and an origin.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth::http {

// kHttp: https goes through a tunnel (CONNECT), http as requests with a whole URL. kSocks5: a tunnel in any
// case, names are resolved by the proxy.
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

// "http://[user:password@]host[:port]", "socks5://...", "socks5h://...". A proxy that is itself spoken to
// with TLS (https://) is refused.
Expected<Proxy> ParseProxy(std::string_view url);

struct Origin;

// What HTTP_PROXY, HTTPS_PROXY and NO_PROXY (or their lower-case forms) say of an origin; Go's programs
// follow them where nothing else is said.
Expected<std::optional<Proxy>> ProxyFromVariables(
    const Origin& origin, const std::function<std::optional<std::string>(const std::string&)>& variable);

// Does NO_PROXY speak of this host? By the rules of Go: names with their subdomains, ".names", "*",
// addresses, networks in CIDR form, each with or without a port. localhost and loopback addresses never go by
// a proxy.
bool BypassesProxy(std::string_view no_proxy, std::string_view host, std::uint16_t port);

}  // namespace berth::http
