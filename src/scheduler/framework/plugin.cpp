#include "scheduler/framework/plugin.hpp"

#include "base/wrap.hpp"
#include "scheduler/framework/score_kernels.hpp"

namespace berth::framework {
namespace {

std::int64_t Normalized(std::int64_t score, std::int64_t maximum, bool reverse) {
  const std::int64_t scaled = WrapMul(kMaxScore, score) / maximum;
  return reverse ? kMaxScore - scaled : scaled;
}

void NormalizeBytes(const RowSet& feasible, bool reverse, ScoreColumn& scores) {
  const std::uint8_t maximum = MaxByte(scores.bytes(), feasible);
  if (maximum != 0) {
    ScaleBytes(scores.OverwriteBytes(kMaxScore), maximum, reverse);
  } else if (reverse) {
    scores.SetAll(kMaxScore);
  }
}

}  // namespace

Status ScorePlugin::Normalize(const Attempt&, const RowSet& feasible, ScoreColumn& scores) const {
  const Normalization how = normalization();
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
  if (!scores.bytes().empty()) return NormalizeBytes(feasible, reverse, scores);
  const auto values = scores.Mutable();
  const auto [bits, maximum] = RangeOf(values, feasible);
  if (maximum == 0) {
    if (reverse) scores.SetAll(kMaxScore);
  } else if (bits >> kScaleBits == 0) {
    ScaleWide(values, feasible, maximum, reverse, scores.OverwriteBytes(kMaxScore));
  } else {
    feasible.ForEach(
        [&, max = maximum](std::size_t row) { values[row] = Normalized(values[row], max, reverse); });
  }
}

}  // namespace berth::framework
