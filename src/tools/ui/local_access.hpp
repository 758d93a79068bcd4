// Which requests to the local server are answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.hpp"
#include "service/target.hpp"

namespace berth::ui {

// 256 random bits, in characters that need no escape in a URL.
std::string NewKey();

struct Refusal {
  int status = 403;
  std::string reason, message;  // of metav1.Status

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

// nullopt: the request is answered. Every request must name this server as its host, so that a name of
// another site which resolves to 127.0.0.1 (DNS rebinding) is of no use; must not come from a page of another
// site; and must be a GET or HEAD of the page or of the scheduler's API. Requests to the API need the key, as
// a bearer token, which other users of this host and other sites do not have. Headers of browsers may be
// absent: other programs do not send them.
std::optional<Refusal> RefusalOf(const http::Request& request, const service::Target& target,
                                 std::uint16_t port, std::string_view key);

// Whether the request is one to the scheduler's API.
bool IsApiRequest(const service::Target& target);

}  // namespace berth::ui
