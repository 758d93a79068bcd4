// Results that a caller must check. A node that does not fit is not an error (see
// scheduler/framework/status.hpp); a lost connection or an unreadable file is.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace berth {

// One code for each different reaction of a caller.
enum class ErrorCode {
  kInvalid,        // the input is wrong; trying again does not help
  kNotFound,       // the object does not exist
  kAlreadyExists,  // an object with that name already exists
  kConflict,       // another client changed the object first, or a precondition failed
  kExpired,        // the resource version is gone: list again
  kUnauthorized,   // credentials are missing, wrong or not sufficient
  kThrottled,      // the server requested a delay
  kUnavailable,    // the server cannot be reached or reports a temporary failure: try again later
  kTimeout,        // a deadline passed
  kAmbiguous,      // the request was sent and the response lost: it may or may not have taken effect
  kCancelled,      // this process is stopping, or the caller cancelled
  kInternal,       // anything else, including defects of Berth
};

// Why something failed: a code for programs, a text for people.
struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;

  // The same error with context added: "<context>: <message>".
  Error In(std::string_view context) && {
    return Error{code, std::string(context) + ": " + std::move(message)};
  }
};

template <class T = void>
using Expected = std::expected<T, Error>;

// The error to return from a function with an Expected result.
inline std::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}
// The same for invalid input.
inline std::unexpected<Error> Invalid(std::string message) {
  return Fail(ErrorCode::kInvalid, std::move(message));
}

}  // namespace berth

#define BERTH_CONCAT_INNER(a, b) a##b
#define BERTH_CONCAT(a, b) BERTH_CONCAT_INNER(a, b)

// BERTH_TRY(auto port, ParsePort(text)): binds the value, or returns the error from the enclosing function.
// BERTH_RETURN_IF_ERROR(Validate(options)): the same for an expression without a value.
#define BERTH_TRY(declaration, expression) \
  BERTH_TRY_IMPL(BERTH_CONCAT(berth_try_, __LINE__), declaration, expression)
#define BERTH_TRY_IMPL(result, declaration, expression)           \
  auto result = (expression);                                     \
  if (!result) return std::unexpected(std::move(result).error()); \
  declaration = std::move(*result)

// BERTH_RETURN_IF_ERROR(Validate(options)): the same for an expression without a value.
#define BERTH_RETURN_IF_ERROR(expression)                     \
  do {                                                        \
    if (auto berth_error = (expression); !berth_error)        \
      return std::unexpected(std::move(berth_error).error()); \
  } while (false)
