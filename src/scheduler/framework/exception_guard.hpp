// Converts exceptions of plugins to error statuses and errors.
#pragma once

#include <exception>
#include <expected>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/result.hpp"
#include "scheduler/framework/status.hpp"

namespace berth::framework {

// A result of type Result that contains `status` and is otherwise default-constructed.
template <class Result>
Result ResultWith(Status status) {
  if constexpr (std::is_same_v<Result, Status>) {
    return status;
  } else {
    Result answer;
    answer.status = std::move(status);
    return answer;
  }
}

// Returns the result of `call`, a Status or a struct with a member `status`. If `call` throws, the status is
// an error with the text of the exception.
template <class Call>
auto CatchExceptions(Call&& call) -> decltype(call()) {
  using Result = decltype(call());
  try {
    return std::forward<Call>(call)();
  } catch (const std::exception& thrown) {
    return ResultWith<Result>(Status::Error(std::string("the plugin threw: ") + thrown.what()));
  } catch (...) {
    return ResultWith<Result>(Status::Error("the plugin threw an exception that is not a std::exception"));
  }
}

// The same for a call that returns Expected. Errors begin with the name of the plugin.
template <class Call>
auto CatchErrors(std::string_view plugin, Call&& call) -> decltype(call()) {
  const auto failed = [&](Error error) { return std::unexpected(std::move(error).In(plugin)); };
  try {
    auto result = std::forward<Call>(call)();
    if (!result) return failed(std::move(result).error());
    return result;
  } catch (const std::exception& thrown) {
    return failed(Error{ErrorCode::kInvalid, thrown.what()});
  } catch (...) {
    return failed(Error{ErrorCode::kInvalid, "an exception that is not a std::exception"});
  }
}

}  // namespace berth::framework
