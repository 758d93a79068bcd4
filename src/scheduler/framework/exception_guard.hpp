// Converts exceptions of plugins to error statuses.
#pragma once

#include <exception>
#include <string>
#include <type_traits>
#include <utility>

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

}  // namespace berth::framework
