// The request pipeline: authentication, authorization, then the response.
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

// Like kube-scheduler's filter chain: 401 for invalid credentials, 403 for denied requests, both as a
// metav1.Status; 500 if authorization failed with an error. Public paths of the endpoints need neither. Lives
// on the loop; arguments must outlive it.
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
  void AuthorizePath(const std::shared_ptr<Visit>& visit);
  void Answer(const std::shared_ptr<Visit>& visit);

  const Parts parts_;
};

// Wraps an exchange so that it may be responded to, or released, on any thread. A second response is ignored.
std::shared_ptr<http::Exchange> FromAnyThread(http::Loop& loop, std::shared_ptr<http::Exchange> exchange);

// The response to an invalid request or path.
http::Response BadRequest();

}  // namespace berth::service
