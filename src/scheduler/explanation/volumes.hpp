// The claims of a pod and where their volumes can be used.
#pragma once

#include <string>
#include <vector>

#include "scheduler/explanation/situation.hpp"

namespace berth::explanation {

// One sentence per claim, without a full stop: bound to which volume, usable on which nodes; or what is
// missing and the nearest existing name.
std::vector<std::string> VolumeValues(const Situation& at);

}  // namespace berth::explanation
