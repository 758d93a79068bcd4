// The state of a scheduler as one line of JSON.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "base/result.hpp"
#include "scheduler/cycle/scheduler_state.hpp"

namespace berth::recording {

// Equal states have equal texts. Members with default values are left out.
void AppendState(std::string& out, const cycle::SchedulerState& state);
// Reading gives an equal state, apart from the order of pods. Errors name the member.
Expected<cycle::SchedulerState> ReadState(const boost::json::value& value);

}  // namespace berth::recording
