// The values that decided about a rejection: taints, labels, amounts, counts, pods, volumes.
#pragma once

#include <string>
#include <vector>

#include "scheduler/explanation/situation.hpp"

namespace berth::explanation {

// Sentences without a full stop, for some of the obstacle's rows. Bounded: at most a few lines, whatever the
// number of rows. Empty for plugins whose reason says everything, and for plugins that are not built in.
std::vector<std::string> DecidingValues(const Situation& at, const Obstacle& obstacle, const RowSet& rows);

// The same for a pod that PreFilter rejects as a whole.
std::vector<std::string> DecidingValuesOfPod(const Situation& at);

}  // namespace berth::explanation
