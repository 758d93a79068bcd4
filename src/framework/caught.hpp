// What a plugin throws is an error of the attempt.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "framework/status.hpp"

namespace berth::framework {

// What `call` answers, a Status; or an error with the text of what it threw.
template <class Call>
Status Caught(Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (const std::exception& thrown) {
    return Status::Error(std::string("the plugin threw: ") + thrown.what());
  } catch (...) {
    return Status::Error("the plugin threw something that is no std::exception");
  }
}

}  // namespace berth::framework
