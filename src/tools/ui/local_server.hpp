// The server of `berth ui` on 127.0.0.1.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "http/io_thread.hpp"
#include "tools/ui/scheduler_requests.hpp"

namespace berth::http {
class Exchange;
class Server;
}  // namespace berth::http

namespace berth::ui {

// Serves the page, and forwards requests to the scheduler's API. local_access.hpp has the requests that are
// refused. A response of the scheduler is passed on with its status and message; 502 if there is none, 429 if
// too many requests wait. Serves until it is destroyed, on any thread but `io`'s; `io` and `requests` must
// outlive it, and `requests` must not call back after `io` has ended.
class LocalServer {
 public:
  // `port` 0: the system chooses. Errors: kConflict: the port is in use.
  static Expected<std::unique_ptr<LocalServer>> Listen(http::IoThread& io, Requests& requests,
                                                       std::string key, std::uint16_t port);
  ~LocalServer();
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  LocalServer(http::IoThread& io, Requests& requests, std::string key);
  void Handle(const http::Request& request, std::shared_ptr<http::Exchange> exchange);

  http::IoThread& io_;
  Requests& requests_;
  const std::string key_;
  std::uint16_t port_ = 0;
  std::unique_ptr<http::Server> server_;
};

}  // namespace berth::ui
