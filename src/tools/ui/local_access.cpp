#include "tools/ui/local_access.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "base/check.hpp"
#include "http/base64.hpp"
#include "service/page/page.hpp"
#include "tools/scheduler_access/scheduler_connection.hpp"

namespace berth::ui {
namespace {

constexpr std::string_view kScheme = "Bearer ";

bool IsThisServer(std::string_view host, std::uint16_t port) {
  const std::string given = ToAsciiLower(host);
  return given == fmt::format("127.0.0.1:{}", port) || given == fmt::format("localhost:{}", port);
}

// A browser states where a request comes from.
bool IsFromElsewhere(const http::Request& request) {
  const std::string_view origin = request.headers.Find("Origin");
  if (!origin.empty() && origin != fmt::format("http://{}", request.headers.Find("Host"))) return true;
  const std::string_view site = request.headers.Find("Sec-Fetch-Site");
  return !site.empty() && site != "same-origin" && site != "none";
}

bool HasKey(const http::Request& request, std::string_view key) {
  std::string_view given = request.headers.Find("Authorization");
  if (!given.starts_with(kScheme)) return false;
  given.remove_prefix(kScheme.size());
  // The time does not depend on the position of the first difference.
  return given.size() == key.size() && CRYPTO_memcmp(given.data(), key.data(), key.size()) == 0;
}

bool IsPage(std::string_view path) { return path == "/ui" || path.starts_with(service::kPageRoot); }

// Whether a server on the way could take the path for another one.
bool HasDots(std::string_view path) {
  return path.contains("/../") || path.contains("/./") || path.ends_with("/..") || path.ends_with("/.");
}

}  // namespace

std::string NewKey() {
  std::array<unsigned char, 32> bits{};
  BERTH_CHECK(RAND_bytes(bits.data(), static_cast<int>(bits.size())) == 1, bits.size());
  std::string key = http::EncodeBase64({reinterpret_cast<const char*>(bits.data()), bits.size()});
  std::ranges::replace(key, '+', '-');
  std::ranges::replace(key, '/', '_');
  std::erase(key, '=');
  return key;
}

std::optional<Refusal> RefusalOf(const http::Request& request, const service::Target& target,
                                 std::uint16_t port, std::string_view key) {
  if (!IsThisServer(request.headers.Find("Host"), port))
    return Refusal{421, "Forbidden", fmt::format("the host of the request is not 127.0.0.1:{}", port)};
  if (IsFromElsewhere(request)) return Refusal{403, "Forbidden", "requests of other sites are not answered"};
  if (request.method != "GET" && request.method != "HEAD")
    return Refusal{405, "MethodNotAllowed", "only GET is supported"};
  if (IsPage(target.path)) return std::nullopt;
  // The target is forwarded as it is, so its text must begin with the path, too.
  if (!IsApiRequest(target) || !request.target.starts_with(scheduler_access::kApi) || HasDots(target.path))
    return Refusal{
        404, "NotFound",
        fmt::format("no such path: expected {} or {}...", service::kPageRoot, scheduler_access::kApi)};
  if (!HasKey(request, key))
    return Refusal{401, "Unauthorized",
                   "the key is missing or wrong: open the address that the command prints"};
  return std::nullopt;
}

bool IsApiRequest(const service::Target& target) { return target.path.starts_with(scheduler_access::kApi); }

}  // namespace berth::ui
