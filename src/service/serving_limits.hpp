// How much of us strangers can take up.
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
  std::size_t body_bytes = 64 << 10;  // nothing that is asked of us has one, but for the log's verbosity
  std::chrono::milliseconds handshake = std::chrono::seconds(10);
  std::chrono::milliseconds request = std::chrono::seconds(32);  // as the original's for the head
  std::chrono::milliseconds idle = std::chrono::seconds(90);
  std::chrono::milliseconds write = std::chrono::seconds(30);
  std::chrono::milliseconds drain = std::chrono::seconds(5);  // for answers under way when we are to stop
};

http::ServerOptions OptionsWithin(const ServingLimits& limits);

}  // namespace berth::service
