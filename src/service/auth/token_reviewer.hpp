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

// Sends TokenReviews to the API server; concurrent calls for one token share a request. Results are cached
// for a limited time by a keyed hash of the token, never the token itself; errors are not cached, and the API
// server reports most unknown tokens as errors. The timeout is ten seconds. Lives on the loop; calls no
// callback after destruction.
class TokenReviewer {
 public:
  using Done = std::move_only_function<void(Expected<User>)>;

  TokenReviewer(http::Loop& loop, client::Api& api, Random& random, metrics::Registry& registry,
                Duration time_to_live);
  ~TokenReviewer();
  TokenReviewer(const TokenReviewer&) = delete;
  TokenReviewer& operator=(const TokenReviewer&) = delete;

  // Calls `done` once, possibly before it returns.
  void Review(std::string_view token, Done done);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// The token of an Authorization header; empty if it has none.
std::string_view BearerToken(std::string_view authorization);

}  // namespace berth::service
