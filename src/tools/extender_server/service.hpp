// The extender as a web service: who may ask, how much, and how long an answer may take.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "tools/extender_server/evaluator.hpp"
#include "kubernetes/ports/ports.hpp"
#include "http/message.hpp"

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
  std::string prefix;               // in front of the verbs: "" or "/scheduler"
  std::size_t most_in_flight = 64;  // questions read and not answered; more are sent away with 429
  Duration deadline = std::chrono::seconds(5);  // a question that waited longer for its turn is not judged
  bool need_certificate = false;                // asking needs a client certificate that our authority signed
  bool bind = true;                             // offer it
};

// What the service works with; all of it outlives it.
struct ServiceParts {
  http::Loop& io;  // where requests come from
  // Runs work on the thread that owns the engine, in order.
  std::function<void(std::move_only_function<void()>)> post;
  Evaluator& judge;  // used there
  // Pods promised a node, as that thread knows them; called there.
  std::function<std::vector<runtime::Nomination>()> nominations;
  // The cluster has been seen whole; any thread.
  std::function<bool()> ready;
  ports::ApiWriter& api;
  const Clock& clock;
  metrics::Registry& metrics;
  service::Endpoints& endpoints;  // what is not asked by POST <prefix>/<verb>: health, metrics
};

// Questions are read on the io thread, judged one after the other on the engine's, and answered in the order
// in which they were judged. Answers: 200 with the verdict, errors of judging in its Error field;
// 400 what is wrong with the question; 401 without certificate; 404, 405; 429 too many at a time; 500 where
// the verb's answer has no place for an error; 503 not ready, or the deadline passed before its turn came.
class Service {
 public:
  Service(ServiceOptions options, ServiceParts parts);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // On the io thread.
  void Handle(http::Request request, std::shared_ptr<http::Exchange> exchange);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::extender_server
