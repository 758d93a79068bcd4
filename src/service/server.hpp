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

// Plain HTTP, without asking who it is: health and metrics only, and only to be read. Whoever listens on more
// than loopback puts something in front of it. Answers are made on `io`, where `endpoints` is used from now
// on; both outlive the server. Serves until it is destroyed, from any thread.
class Server {
 public:
  // `port` 0: the system chooses.
  static Expected<std::unique_ptr<Server>> Listen(http::IoThread& io, Endpoints& endpoints,
                                                  std::string address, std::uint16_t port,
                                                  const ServingLimits& limits = {});
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
