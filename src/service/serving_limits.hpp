// Resource limits for unauthenticated clients.
#pragma once

#include <chrono>
#include <cstddef>

namespace berth::http {
struct ServerOptions;
}

namespace berth::service {

struct ServingLimits {
  std::size_t connections = 1000;
  std::size_t header_bytes = 64 << 10;
  std::size_t body_bytes = 64 << 10;  // no endpoint needs a body, except for setting the log verbosity
  std::chrono::milliseconds handshake = std::chrono::seconds(10);
  // as kube-scheduler's limit for the request head
  std::chrono::milliseconds request = std::chrono::seconds(32);
  std::chrono::milliseconds idle = std::chrono::seconds(90);
  std::chrono::milliseconds write = std::chrono::seconds(30);
  std::chrono::milliseconds drain = std::chrono::seconds(5);  // for current responses at shutdown
};

http::ServerOptions OptionsWithin(const ServingLimits& limits);

}  // namespace berth::service
