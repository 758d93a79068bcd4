// Serves Endpoints over HTTP.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace berth::http {
class IoThread;
class Server;
}  // namespace berth::http

namespace berth::server {

class Endpoints;

// Plain HTTP; whoever listens on more than loopback puts something in front of it. Answers are made on `io`,
// where `endpoints` is used from now on; both outlive the server. Serves until it is destroyed, from any
// thread.
class Server {
 public:
  // `port` 0: the system chooses.
  static Expected<std::unique_ptr<Server>> Listen(http::IoThread& io, Endpoints& endpoints,
                                                  std::string address, std::uint16_t port);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;

 private:
  Server(http::IoThread& io, std::unique_ptr<http::Server> server);

  http::IoThread& io_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace berth::server
