// Encoding and decoding of TokenReview and SubjectAccessReview.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "service/auth/user.hpp"

namespace berth::service {

// authentication.k8s.io/v1, without audiences, as in kube-scheduler.
std::string TokenReviewBody(std::string_view token);

struct TokenVerdict {
  bool authenticated = false;
  std::string error;
  User user;
};
// Fails if the text is not a TokenReview.
Expected<TokenVerdict> ParseTokenReview(std::string_view text);

// What a request does: a verb on a path, or on an object of the Kubernetes API.
struct Attributes {
  // An object of the core group.
  struct Resource {
    std::string resource;  // "pods"
    std::string ns, name;
  };
  std::string verb;  // for a path the method in lower case
  std::string path;
  std::optional<Resource> resource = std::nullopt;  // with it, `path` does not count
};

// authorization.k8s.io/v1: whether the user may do it.
std::string AccessReviewBody(const User& user, const Attributes& attributes);

struct AccessVerdict {
  bool allowed = false;
  bool denied = false;
  std::string reason;
};
Expected<AccessVerdict> ParseAccessReview(std::string_view text);

}  // namespace berth::service
