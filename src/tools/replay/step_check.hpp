// The form of the steps of a recording (scheduler/recording/recorder.hpp).
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

namespace berth::replay {

// Why the step has not the form that a recorder writes: the member and what it must be; empty: it has.
// Members that no recorder writes are accepted. The other functions of this module rely on the form.
std::string FormError(const boost::json::object& step);

}  // namespace berth::replay
