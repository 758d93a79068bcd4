// Metrics of delegated authentication and authorization, as in apiserver v0.37.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::service {

// The requests for one kind of review: apiserver_delegated_<authn|authz>_request_total and
// ..._duration_seconds.
class ReviewMetrics {
 public:
  ReviewMetrics(metrics::Registry& registry, std::string_view kind) : registry_(registry), kind_(kind) {}
  // Code 0: no response.
  void Answered(int code, Duration took);

 private:
  metrics::Registry& registry_;
  const std::string kind_;
};

// authentication_attempts, authentication_duration_seconds, authenticated_user_requests,
// authorization_attempts_total, authorization_duration_seconds,
// apiserver_client_certificate_expiration_seconds.
class FilterMetrics {
 public:
  explicit FilterMetrics(metrics::Registry& registry) : registry_(registry) {}
  // `result`: success, failure, error; `user` counts for success only.
  void Authenticated(std::string_view result, std::string_view user, Duration took);
  // `result`: allowed, denied, no-opinion, error.
  void Authorized(std::string_view result, Duration took);
  void CertificateExpires(double in_seconds);

 private:
  metrics::Registry& registry_;
};

// authentication_token_cache_*.
class TokenCacheMetrics {
 public:
  explicit TokenCacheMetrics(metrics::Registry& registry) : registry_(registry) {}
  void Requested(bool hit, Duration took);
  void Blocked(int by);
  void FetchBegins();
  void FetchEnds(bool ok);

 private:
  metrics::Gauge& Active(const char* status);
  metrics::Registry& registry_;
};

}  // namespace berth::service
