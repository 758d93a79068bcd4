// Converts exceptions of plugins to error statuses.
#pragma once

#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include "scheduler/framework/status.hpp"

namespace berth::framework {

// A result of type StatusCallback that contains `status` and is otherwise default-constructed.
template <class StatusCallback>
StatusCallback ResultWith(Status status) {
  if constexpr (std::is_same_v<StatusCallback, Status>) {
    return status;
  } else {
    StatusCallback answer;
    answer.status = std::move(status);
    return answer;
  }
}

// Returns the result of `call`, a Status or a struct with a member `status`. If `call` throws, the status is
// an error with the text of the exception.
template <class Call>
auto Caught(Call&& call) -> decltype(call()) {
  using StatusCallback = decltype(call());
  try {
    return std::forward<Call>(call)();
  } catch (const std::exception& thrown) {
    return ResultWith<StatusCallback>(Status::Error(std::string("the plugin threw: ") + thrown.what()));
  } catch (...) {
    return ResultWith<StatusCallback>(
        Status::Error("the plugin threw an exception that is not a std::exception"));
  }
}

}  // namespace berth::framework
