#include "http/proxy.hpp"

#include <fmt/format.h>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <boost/url/parse.hpp>
#include <charconv>

#include "base/ascii.hpp"
#include "base/redact.hpp"
#include "http/base64.hpp"
#include "http/origin.hpp"

namespace berth::http {

namespace ip = boost::asio::ip;

namespace {

constexpr std::uint16_t kSocksPort = 1080;

bool InNetwork(std::string_view network, const ip::address& address) {
  boost::system::error_code ec;
  if (address.is_v4()) {
    const auto net = ip::make_network_v4(network, ec);
    if (ec) return false;
    const auto host = ip::network_v4(address.to_v4(), net.prefix_length());
    return host.canonical() == net.canonical();
  }
  const auto net = ip::make_network_v6(network, ec);
  if (ec) return false;
  return ip::network_v6(address.to_v6(), net.prefix_length()).canonical() == net.canonical();
}

// Whether one entry of NO_PROXY, without surrounding space, matches.
bool EntryMatches(std::string_view entry, const std::string& host, std::uint16_t port) {
  boost::system::error_code ec;
  const auto address = ip::make_address(host, ec);
  const bool is_address = !ec;
  if (entry == "*") return true;
  if (entry.find('/') != entry.npos) return is_address && InNetwork(entry, address);
  std::string name = ToAsciiLower(entry);
  const auto colon = name.rfind(':');
  const bool bracketed = name.starts_with('[');
  if (colon != name.npos && (bracketed ? name[colon - 1] == ']' : name.find(':') == colon)) {
    if (name.substr(colon + 1) != std::to_string(port)) return false;
    name.resize(colon);
  }
  if (bracketed && name.size() > 2) name = name.substr(1, name.size() - 2);
  if (is_address) {
    const auto same = ip::make_address(name, ec);
    return !ec && same == address;
  }
  if (name.starts_with("*.")) name.erase(0, 1);
  if (name.starts_with('.')) return host.ends_with(name);
  return !name.empty() && (host == name || host.ends_with("." + name));
}

}  // namespace

std::string Proxy::HostPort() const {
  return host.find(':') == host.npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

std::string Proxy::Authorization() const {
  if (username.empty() && password.empty()) return "";
  return "Basic " + EncodeBase64(username + ":" + password);
}

Expected<Proxy> ParseProxy(std::string_view url) {
  const std::string text = url.find("://") == url.npos ? "http://" + std::string(url) : std::string(url);
  const auto parsed = boost::urls::parse_uri(text);
  // The text is left out: it may contain a password.
  if (!parsed) return Invalid("invalid proxy-url: it is not a URL");
  const std::string scheme = ToAsciiLower(std::string_view(parsed->scheme()));
  Proxy proxy;
  if (scheme == "http") {
    proxy.port = kHttpPort;
  } else if (scheme == "socks5" || scheme == "socks5h") {
    proxy.kind = Proxy::Kind::kSocks5;
    proxy.port = kSocksPort;
  } else if (scheme == "https") {
    return Invalid(
        fmt::format("proxy-url {}: a proxy with the scheme https is not supported; "
                    "expected http or socks5",
                    RedactUrl(url)));
  } else {
    return Invalid(fmt::format("unsupported scheme \"{}\", must be http, https, or socks5", scheme));
  }
  proxy.host = parsed->host();
  if (proxy.host.size() > 2 && proxy.host.front() == '[')
    proxy.host = proxy.host.substr(1, proxy.host.size() - 2);
  if (proxy.host.empty()) return Invalid(fmt::format("proxy-url \"{}\" has no host", RedactUrl(url)));
  if (parsed->has_port() && !parsed->port().empty()) {
    const std::string_view digits = parsed->port();
    const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), proxy.port);
    if (ec != std::errc() || end != digits.data() + digits.size() || proxy.port == 0) {
      return Invalid(fmt::format("proxy-url \"{}\" has no valid port", url));
    }
  }
  proxy.username = parsed->user();
  proxy.password = parsed->password();
  return proxy;
}

bool BypassesProxy(std::string_view no_proxy, std::string_view host, std::uint16_t port) {
  const std::string wanted = ToAsciiLower(host);
  boost::system::error_code ec;
  const auto address = ip::make_address(wanted, ec);
  if (wanted == "localhost" || (!ec && address.is_loopback())) return true;
  while (!no_proxy.empty()) {
    const auto comma = no_proxy.find(',');
    std::string_view entry = no_proxy.substr(0, comma);
    no_proxy = comma == no_proxy.npos ? std::string_view() : no_proxy.substr(comma + 1);
    const auto first = entry.find_first_not_of(" \t");
    if (first == entry.npos) continue;
    entry = entry.substr(first, entry.find_last_not_of(" \t") - first + 1);
    if (EntryMatches(entry, wanted, port)) return true;
  }
  return false;
}

Expected<std::optional<Proxy>> ProxyFromVariables(
    const Origin& origin, const std::function<std::optional<std::string>(const std::string&)>& variable) {
  const auto either = [&](const char* upper, const char* lower) {
    auto value = variable(upper);
    return value && !value->empty() ? *value : variable(lower).value_or("");
  };
  const std::string url =
      origin.tls ? either("HTTPS_PROXY", "https_proxy") : either("HTTP_PROXY", "http_proxy");
  if (url.empty() || BypassesProxy(either("NO_PROXY", "no_proxy"), origin.host, origin.port))
    return std::optional<Proxy>();
  BERTH_TRY(Proxy proxy, ParseProxy(url));
  return std::optional(std::move(proxy));
}

}  // namespace berth::http
