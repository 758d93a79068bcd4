// The way of a request: who asks, may they, and only then the answer.
#pragma once

#include <memory>

#include "http/message.hpp"

namespace berth {
class Clock;
}
namespace berth::http {
class Exchange;
class Loop;
}  // namespace berth::http

namespace berth::service {

class Authenticator;
class Authorizer;
class Endpoints;
class FilterMetrics;

// As kube-scheduler's chain of filters: 401 for wrong credentials, 403 for who may not, both as a
// metav1.Status; 500 if nobody could say. Lives on the loop; everything handed in outlives it.
class Gate {
 public:
  struct Parts {
    http::Loop& loop;
    Authenticator& authenticator;
    Authorizer& authorizer;
    Endpoints& endpoints;
    FilterMetrics& meters;
  };
  explicit Gate(Parts parts) : parts_(parts) {}

  void Handle(http::Request request, std::shared_ptr<http::Exchange> exchange);

 private:
  struct Visit;
  void Authorize(const std::shared_ptr<Visit>& visit);

  const Parts parts_;
};

// An exchange that may be answered, or let go of, on any thread. A second answer is thrown away.
std::shared_ptr<http::Exchange> FromAnyThread(http::Loop& loop, std::shared_ptr<http::Exchange> exchange);

// For what is no request, or names no path.
http::Response BadRequest();

}  // namespace berth::service
