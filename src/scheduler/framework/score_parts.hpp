// Components of a composite score, for explanations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/framework/plugin.hpp"

namespace berth::framework {

struct ScorePart {
  std::string name;  // unique within the plugin
  std::int64_t weight = 1;
  // By row: the load in percent (NaN: unknown), the part of it that is estimated instead of measured, and the
  // score of the load, from 0 to 100.
  std::vector<double> load;
  std::vector<double> estimated;
  std::vector<double> score;
  std::string note = {};  // on the pod, the same for all nodes; empty: none
};

// Called after Score in the same attempt, and only for explanations.
class ScorePartsPlugin : public virtual Plugin {
 public:
  virtual std::vector<ScorePart> ScoreParts(const Attempt& attempt, const RowSet& feasible) const = 0;
};

}  // namespace berth::framework
