#include "http/origin.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <boost/url/encode.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>
#include <charconv>

namespace berth::http {
namespace {

std::string Bracketed(const std::string& host) {
  return host.find(':') == host.npos ? host : "[" + host + "]";
}

}  // namespace

std::string Origin::HostPort() const { return fmt::format("{}:{}", Bracketed(host), port); }

std::string Origin::Authority() const {
  return port == (tls ? kHttpsPort : kHttpPort) ? Bracketed(host) : HostPort();
}

Expected<Origin> ParseOrigin(std::string_view url) {
  const bool bare = url.find("://") == url.npos;
  const std::string text = bare ? "http://" + std::string(url) : std::string(url);
  const auto parsed = boost::urls::parse_uri(text);
  if (!parsed) return Invalid(fmt::format("\"{}\" is not a URL", url));
  const auto& view = *parsed;
  if (view.scheme() != "https" && view.scheme() != "http") {
    return Invalid(fmt::format("unsupported scheme \"{}\" in \"{}\": expected http or https",
                               std::string_view(view.scheme()), url));
  }
  Origin origin;
  origin.tls = view.scheme() == "https";
  origin.host = view.host();
  if (origin.host.size() > 2 && origin.host.front() == '[') {
    origin.host = origin.host.substr(1, origin.host.size() - 2);
  }
  if (origin.host.empty()) return Invalid(fmt::format("\"{}\" has no host", url));
  if (view.has_port() && !view.port().empty()) {
    const std::string_view digits = view.port();
    const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), origin.port);
    if (ec != std::errc() || end != digits.data() + digits.size() || origin.port == 0) {
      return Invalid(fmt::format("\"{}\" has no valid port", url));
    }
  }
  if (bare && origin.port == kHttpsPort) origin.tls = true;
  if (origin.port == 0) origin.port = origin.tls ? kHttpsPort : kHttpPort;
  origin.prefix = view.encoded_path();
  while (!origin.prefix.empty() && origin.prefix.back() == '/') origin.prefix.pop_back();
  return origin;
}

bool IsIpAddress(std::string_view host) {
  const std::string address(host.substr(0, host.find('%')));
  unsigned char buffer[16];
  return inet_pton(AF_INET, address.c_str(), buffer) == 1 ||
         inet_pton(AF_INET6, address.c_str(), buffer) == 1;
}

std::string EncodeQuery(std::string_view text) {
  return boost::urls::encode(text, boost::urls::unreserved_chars);
}

}  // namespace berth::http
