#include "framework/plugin.hpp"

#include "base/wrap.hpp"

namespace berth::framework {
namespace {

std::int64_t Normalized(std::int64_t score, std::int64_t maximum, bool reverse) {
  const std::int64_t scaled = WrapMul(kMaxScore, score) / maximum;
  return reverse ? kMaxScore - scaled : scaled;
}

}  // namespace

Status ScorePlugin::Normalize(const Attempt&, const RowSet& feasible, ScoreColumn& scores) const {
  const Normalization how = Normalizes();
  if (how == Normalization::kByMaximum || how == Normalization::kByMaximumReversed)
    NormalizeByMaximum(feasible, how == Normalization::kByMaximumReversed, scores);
  return {};
}

void NormalizeByMaximum(const RowSet& feasible, bool reverse, ScoreColumn& scores) {
  if (scores.uniform()) {
    const std::int64_t value = scores.uniform_value();
    if (value > 0) {
      scores.SetAll(Normalized(value, value, reverse));
    } else if (reverse) {
      scores.SetAll(kMaxScore);
    }
    return;
  }
  const auto values = scores.Mutable();
  std::int64_t maximum = 0;
  feasible.ForEach([&](std::size_t row) { maximum = std::max(maximum, values[row]); });
  if (maximum == 0) {
    if (reverse) scores.SetAll(kMaxScore);
    return;
  }
  feasible.ForEach([&](std::size_t row) { values[row] = Normalized(values[row], maximum, reverse); });
}

}  // namespace berth::framework
