// Encoding and decoding of TokenReview and SubjectAccessReview.
#pragma once

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

// authorization.k8s.io/v1: whether the user may use `verb` (a method in lower case) on a non-resource path.
std::string AccessReviewBody(const User& user, std::string_view verb, std::string_view path);

struct AccessVerdict {
  bool allowed = false;
  bool denied = false;
  std::string reason;
};
Expected<AccessVerdict> ParseAccessReview(std::string_view text);

}  // namespace berth::service
