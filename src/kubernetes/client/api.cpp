#include "kubernetes/client/api.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/lease_fence.hpp"
#include "base/random.hpp"
#include "kubernetes/api/decode.hpp"

namespace berth::client {
namespace {

struct Meaning {
  std::string_view reason;
  ErrorCode code;
};
constexpr std::array kReasons{
    Meaning{"NotFound", ErrorCode::kNotFound},
    Meaning{"AlreadyExists", ErrorCode::kAlreadyExists},
    Meaning{"Conflict", ErrorCode::kConflict},
    Meaning{"Expired", ErrorCode::kExpired},
    Meaning{"Gone", ErrorCode::kExpired},
    Meaning{"Unauthorized", ErrorCode::kUnauthorized},
    Meaning{"Forbidden", ErrorCode::kUnauthorized},
    Meaning{"TooManyRequests", ErrorCode::kThrottled},
    Meaning{"ServiceUnavailable", ErrorCode::kUnavailable},
    Meaning{"ServerTimeout", ErrorCode::kUnavailable},
    Meaning{"Timeout", ErrorCode::kTimeout},
    Meaning{"InternalError", ErrorCode::kInternal},
    Meaning{"BadRequest", ErrorCode::kInvalid},
    Meaning{"Invalid", ErrorCode::kInvalid},
    Meaning{"MethodNotAllowed", ErrorCode::kInvalid},
    Meaning{"NotAcceptable", ErrorCode::kInvalid},
    Meaning{"UnsupportedMediaType", ErrorCode::kInvalid},
    Meaning{"RequestEntityTooLarge", ErrorCode::kInvalid},
};

ErrorCode FromHttpCode(int code) {
  switch (code) {
    case 401:
    case 403:
      return ErrorCode::kUnauthorized;
    case 404:
      return ErrorCode::kNotFound;
    case 409:
      return ErrorCode::kConflict;
    case 410:
      return ErrorCode::kExpired;
    case 429:
      return ErrorCode::kThrottled;
    case 502:
    case 503:
      return ErrorCode::kUnavailable;
    case 504:
      return ErrorCode::kTimeout;
    default:
      return code >= 400 && code < 500 ? ErrorCode::kInvalid : ErrorCode::kInternal;
  }
}

}  // namespace

bool RequestError::ambiguous() const { return code == ErrorCode::kAmbiguous || code == ErrorCode::kTimeout; }

bool RequestError::too_large_version() const {
  return code == ErrorCode::kTimeout && answered() &&
         std::ranges::find(causes, "ResourceVersionTooLarge") != causes.end();
}

bool RequestError::temporary_server_failure() const {
  return answered() && (reason == "InternalError" || reason == "ServiceUnavailable" || http_code == 503);
}

RequestError FromStatus(const api::Status& status) {
  RequestError error;
  const auto* known = std::ranges::find(kReasons, std::string_view(status.reason), &Meaning::reason);
  error.code = known != kReasons.end() ? known->code : FromHttpCode(status.code);
  error.message = status.message;
  error.http_code = status.code == 0 ? 500 : status.code;
  error.reason = status.reason;
  error.causes = status.cause_reasons;
  error.retry_after_seconds = status.retry_after_seconds;
  return error;
}

int WatchTimeoutSeconds(Random& random) {
  constexpr int kMin = 300;
  return static_cast<int>(kMin * (1 + random.Unit()));
}

std::function<std::optional<std::string>()> RefusedUnlessOpen(const LeaseFence& fence) {
  return [&fence]() -> std::optional<std::string> {
    if (fence.Open()) return std::nullopt;
    return "not the leader any more";
  };
}

}  // namespace berth::client
