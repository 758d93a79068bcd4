// The saved state of a plugin, encoded when its text is needed.
#pragma once

#include <utility>

#include "base/json_fields.hpp"
#include "scheduler/framework/saved_state.hpp"

namespace berth::plugins {

// The encoder of a value whose members base/json_fields.hpp can write.
template <class T>
framework::StateEncoder EncodeLater(T state) {
  return [state = std::move(state)] { return WriteJsonFields(state); };
}

}  // namespace berth::plugins
