// An API server that can only be read.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "tools/migrate/server.hpp"

namespace berth::explain {

// Passes GET requests on. Every other request fails and is not sent.
class ReadOnlyServer final : public migrate::Server {
 public:
  explicit ReadOnlyServer(std::unique_ptr<migrate::Server> server) : server_(std::move(server)) {}

  client::Reply Send(client::ApiRequest request) override {
    if (request.method == "GET" && request.body.empty()) return server_->Send(std::move(request));
    return std::unexpected(client::RequestError{
        .code = ErrorCode::kInvalid,
        .message =
            request.method + " " + request.path + " was not sent: the connection is for reading only"});
  }

 private:
  const std::unique_ptr<migrate::Server> server_;
};

}  // namespace berth::explain
