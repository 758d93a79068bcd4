#include "service/serving_limits.hpp"

#include "http/server.hpp"

namespace berth::service {

http::ServerOptions OptionsWithin(const ServingLimits& limits) {
  http::ServerOptions options;
  options.body_limit_bytes = limits.body_bytes;
  options.header_limit_bytes = limits.header_bytes;
  options.read_ahead_bytes = limits.header_bytes;
  options.max_connections = limits.connections;
  options.handshake_timeout = limits.handshake;
  options.request_timeout = limits.request;
  options.idle_timeout = limits.idle;
  options.write_timeout = limits.write;
  return options;
}

}  // namespace berth::service
