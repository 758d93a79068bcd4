// Determines the user of a request.
#pragma once

#include <functional>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "http/message.hpp"
#include "service/auth/auth_metrics.hpp"
#include "service/auth/certificate_verifier.hpp"
#include "service/auth/token_reviewer.hpp"
#include "service/auth/trust.hpp"
#include "service/auth/user.hpp"

namespace berth::service {

// Tries in this order, as apiserver v0.37's delegating authenticator: a trusted front proxy's headers, the
// client certificate, a bearer token. The first method that yields a user wins. If none does and one failed,
// the result is an error; otherwise the user is system:anonymous. All other users belong to
// system:authenticated. One thread, the loop's.
class Authenticator {
 public:
  using Done = std::move_only_function<void(Expected<User>)>;

  // `tokens` may be null: bearer tokens are then ignored.
  Authenticator(const Trust& trust, TokenReviewer* tokens, const Clock& clock, FilterMetrics& meters)
      : trust_(trust), tokens_(tokens), clock_(clock), meters_(meters) {}

  // Calls `done` once, possibly before it returns. The error contains the errors of all methods.
  void Authenticate(const http::Request& request, Done done);

 private:
  Expected<std::optional<User>> ByCertificate(const http::Request& request);

  const Trust& trust_;
  TokenReviewer* const tokens_;
  const Clock& clock_;
  FilterMetrics& meters_;
  CertificateVerifier verifier_;
};

}  // namespace berth::service
