#include "service/auth/front_proxy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/ascii.hpp"

namespace berth::service {
namespace {

bool HasPrefix(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && EqualsIgnoringAsciiCase(text.substr(0, prefix.size()), prefix);
}

// The first non-empty value; of each header name only the first value is considered.
std::string FirstValue(const http::Headers& headers, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (const std::string_view value = headers.Find(name); !value.empty()) return std::string(value);
  }
  return {};
}

// Percent-decodes; returns the text unchanged if an escape is invalid.
std::string Unescape(const std::string& text) {
  const auto hex = [](char c) { return c <= '9' ? c - '0' : ToAsciiLower(c) - 'a' + 10; };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || std::isxdigit(static_cast<unsigned char>(text[i + 1])) == 0 ||
        std::isxdigit(static_cast<unsigned char>(text[i + 2])) == 0) {
      return text;
    }
    out += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
    i += 2;
  }
  return out;
}

}  // namespace

std::optional<User> UserOfHeaders(const http::Headers& headers, const FrontProxy& proxy) {
  User user;
  user.name = FirstValue(headers, proxy.username_headers);
  if (user.name.empty()) return std::nullopt;
  user.uid = FirstValue(headers, proxy.uid_headers);
  for (const std::string& name : proxy.group_headers) {
    for (const std::string_view value : headers.All(name)) {
      if (!value.empty()) user.groups.emplace_back(value);
    }
  }
  for (const std::string& prefix : proxy.extra_header_prefixes) {
    for (const auto& [name, value] : headers) {
      if (!HasPrefix(name, prefix)) continue;
      user.extra[Unescape(ToAsciiLower(std::string_view(name).substr(prefix.size())))].push_back(value);
    }
  }
  return user;
}

Expected<std::optional<User>> UserOfFrontProxy(const http::Request& request, const FrontProxy& proxy,
                                               CertificateVerifier& verifier, WallTime now) {
  if (!request.peer || !proxy.authorities) return std::nullopt;
  BERTH_RETURN_IF_ERROR(verifier.Verify(request.peer, proxy.authorities, now));
  const std::string& name = request.peer->common_name;
  if (!proxy.allowed_names.empty() &&
      std::ranges::find(proxy.allowed_names, name) == proxy.allowed_names.end()) {
    return Fail(ErrorCode::kUnauthorized,
                fmt::format("x509: subject with cn={} is not in the allowed list", name));
  }
  return UserOfHeaders(request.headers, proxy);
}

}  // namespace berth::service
