// The extender as an HTTP service: authorization, concurrency limit and deadlines.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "http/message.hpp"
#include "kubernetes/ports/ports.hpp"
#include "tools/extender_server/evaluator.hpp"

namespace berth::http {
class Exchange;
class Loop;
}  // namespace berth::http
namespace berth::metrics {
class Registry;
}
namespace berth::service {
class Endpoints;
}

namespace berth::extender_server {

struct ServiceOptions {
  std::string prefix;              // path prefix of the verbs: "" or "/scheduler"
  std::size_t max_in_flight = 64;  // maximum number of requests in progress; further ones get 429
  Duration deadline = std::chrono::seconds(5);  // requests that waited longer in the queue get 503
  bool require_certificate = false;             // require a client certificate signed by our authority
  bool bind = true;                             // offer the verb bind
};

// The components of the service; all must outlive it.
struct ServiceParts {
  http::Loop& io;  // accepts the requests
  // Runs work on the thread that owns the engine, in order.
  std::function<void(std::move_only_function<void()>)> post;
  Evaluator& evaluator;  // on that thread
  // Nominated pods; called on that thread.
  std::function<std::vector<runtime::Nomination>()> nominations;
  // Whether the initial lists are complete; any thread.
  std::function<bool()> ready;
  ports::ApiWriter& api;
  const Clock& clock;
  metrics::Registry& metrics;
  service::Endpoints& endpoints;   // handles all other paths than POST <prefix>/<verb>: health, metrics
  api::RetainedFields retained{};  // of the objects in requests
};

// Requests are decoded on the I/O thread and evaluated one after the other on the engine's thread. Responses:
// 200 with the result (an evaluation error is in its Error field); 400 invalid request; 401 missing client
// certificate; 404, 405; 429 too many requests in progress; 500 if the verb's result cannot express the
// error; 503 not ready, or the deadline passed in the queue.
class Service {
 public:
  Service(ServiceOptions options, ServiceParts parts);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // I/O thread only.
  void Handle(http::Request request, std::shared_ptr<http::Exchange> exchange);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::extender_server
