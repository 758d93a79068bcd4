// A score that is put together from several, shown part by part to people who ask why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/framework/plugin.hpp"

namespace berth::framework {

struct ScorePart {
  std::string name;  // unique within the plugin
  std::int64_t weight = 1;
  // By row: what the part is about, in percent (NaN: nothing is known of the node), and what it is worth, 0
  // to 100.
  std::vector<double> load;
  std::vector<double> score;
};

// Asked after Score, in the same attempt, and only in explanations.
class ScorePartsPlugin : public virtual Plugin {
 public:
  virtual std::vector<ScorePart> ScoreParts(const Attempt& attempt, const RowSet& feasible) const = 0;
};

}  // namespace berth::framework
