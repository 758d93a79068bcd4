// What a plugin throws is an error of the attempt.
#pragma once

#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include "scheduler/framework/status.hpp"

namespace berth::framework {

// An answer that says so and nothing else.
template <class Answer>
Answer AnswerOf(Status status) {
  if constexpr (std::is_same_v<Answer, Status>) {
    return status;
  } else {
    Answer answer;
    answer.status = std::move(status);
    return answer;
  }
}

// What `call` answers, a Status or something with a `status`; or an error with the text of what it threw.
template <class Call>
auto Caught(Call&& call) -> decltype(call()) {
  using Answer = decltype(call());
  try {
    return std::forward<Call>(call)();
  } catch (const std::exception& thrown) {
    return AnswerOf<Answer>(Status::Error(std::string("the plugin threw: ") + thrown.what()));
  } catch (...) {
    return AnswerOf<Answer>(Status::Error("the plugin threw something that is no std::exception"));
  }
}

}  // namespace berth::framework
