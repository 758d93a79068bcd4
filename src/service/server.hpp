// Serves Endpoints over HTTP.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "service/serving_limits.hpp"

namespace berth::http {
class IoThread;
class Server;
}  // namespace berth::http

namespace berth::service {

class Endpoints;

// What every client may read without authentication.
enum class PlainContent : std::uint8_t { kHealth, kHealthAndMetrics };

// Plain HTTP without authentication, read-only. Operators that listen on more than loopback must protect the
// port. Responses are produced on `io`, which uses `endpoints` from now on; both must outlive the server.
// Serves until it is destroyed, on any thread.
class Server {
 public:
  // `port` 0: the system chooses.
  static Expected<std::unique_ptr<Server>> Listen(http::IoThread& io, Endpoints& endpoints,
                                                  PlainContent content, std::string address,
                                                  std::uint16_t port, const ServingLimits& limits = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;

 private:
  Server(http::IoThread& io, std::unique_ptr<http::Server> server);

  http::IoThread& io_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace berth::service
