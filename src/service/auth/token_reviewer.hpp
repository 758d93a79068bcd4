// Users by their bearer tokens.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "service/auth/review_client.hpp"
#include "service/auth/user.hpp"

namespace berth::service {

// Asks the API server, once for however many ask us at the same time. Answers are kept for a while by a keyed
// hash of the token, never the token itself; errors are not, and the API server calls most unknown tokens an
// error. Ten seconds at most for an answer. Lives on the loop; destroyed, it calls nobody back.
class TokenReviewer {
 public:
  using Done = std::move_only_function<void(Expected<User>)>;

  TokenReviewer(http::Loop& loop, client::Api& api, Random& random, metrics::Registry& registry,
                Duration time_to_live);
  ~TokenReviewer();
  TokenReviewer(const TokenReviewer&) = delete;
  TokenReviewer& operator=(const TokenReviewer&) = delete;

  // Calls `done` once, perhaps at once.
  void Ask(std::string_view token, Done done);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// The token of an Authorization header; empty if it has none.
std::string_view BearerToken(std::string_view authorization);

}  // namespace berth::service
