// Authorization of requests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "service/auth/review_client.hpp"
#include "service/auth/reviews.hpp"
#include "service/auth/user.hpp"
#include "service/serving_options.hpp"

namespace berth::service {

struct Decision {
  enum class Kind { kAllow, kDeny, kNoOpinion };
  Kind kind = Kind::kNoOpinion;
  std::string reason{};
  std::string error{};  // with kDeny or kNoOpinion: why the authorization could not be evaluated
};

// Paths that need no authorization: exact paths, and prefixes with a trailing *.
class AlwaysAllowed {
 public:
  // Only the last character of a path may be a *.
  static Expected<AlwaysAllowed> Parse(const std::vector<std::string>& paths);
  bool Allows(std::string_view path) const;

 private:
  std::vector<std::string> paths_, prefixes_;  // without their leading slash
};

// In this order: the group system:masters may do everything; the paths above are allowed; otherwise the API
// server is queried, if configured, and its response cached for a limited time. Lives on the loop; calls no
// callback after destruction.
class Authorizer {
 public:
  using Done = std::move_only_function<void(Decision)>;

  // `api` may be null.
  Authorizer(http::Loop& loop, client::Api* api, Random& random, metrics::Registry& registry,
             AlwaysAllowed always, Duration authorized_ttl, Duration unauthorized_ttl);
  ~Authorizer();
  Authorizer(const Authorizer&) = delete;
  Authorizer& operator=(const Authorizer&) = delete;

  // Calls `done` once, possibly before it returns.
  void Authorize(const User& user, const Attributes& attributes, Done done);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::service
