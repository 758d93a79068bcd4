// Finds out who asks.
#pragma once

#include <functional>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "http/message.hpp"
#include "service/auth/auth_metrics.hpp"
#include "service/auth/token_reviewer.hpp"
#include "service/auth/trust.hpp"
#include "service/auth/user.hpp"

namespace berth::service {

// In this order, as apiserver v0.37's delegating authenticator: a trusted front proxy's headers, the client's
// certificate, a bearer token; the first that knows the user counts, whatever the others say. If none does
// and one found something wrong, that is an error; else the user is system:anonymous. Everybody else belongs
// to system:authenticated. One thread, the loop's.
class Authenticator {
 public:
  using Done = std::move_only_function<void(Expected<User>)>;

  // `tokens` may be null: then tokens mean nothing.
  Authenticator(const Trust& trust, TokenReviewer* tokens, const Clock& clock, FilterMetrics& meters)
      : trust_(trust), tokens_(tokens), clock_(clock), meters_(meters) {}

  // Calls `done` once, perhaps at once. The error says everything that was wrong.
  void Ask(const http::Request& request, Done done);

 private:
  Expected<std::optional<User>> AskCertificate(const http::Request& request);

  const Trust& trust_;
  TokenReviewer* const tokens_;
  const Clock& clock_;
  FilterMetrics& meters_;
};

}  // namespace berth::service
