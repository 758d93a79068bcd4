#include "class_memory/best_rows.hpp"

#include <algorithm>

namespace berth::class_memory {

void BestRows::Reset(std::size_t rows) {
  rows_ = rows;
  levels_.clear();
  std::size_t below = rows;
  do {
    const std::size_t groups = std::max<std::size_t>((below + kFan - 1) / kFan, 1);
    const std::size_t room = groups == 1 ? 1 : (groups + kFan - 1) / kFan * kFan;
    if (levels_.empty()) totals_.assign(groups * kFan, kOut);
    levels_.push_back({std::vector(room, kOut), std::vector<std::uint32_t>(room, 0), RowSet(room)});
    below = groups;
  } while (below > 1);
}

void BestRows::Refresh() {
  const std::int32_t* below = totals_.data();
  const std::uint32_t* ties_below = nullptr;  // rows are themselves
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    Level& level = levels_[i];
    level.stale.ForEach([&](std::size_t group) {
      const std::int32_t* of_group = below + group * kFan;
      std::int32_t best = kOut;
      for (std::size_t k = 0; k < kFan; ++k) best = std::max(best, of_group[k]);
      std::uint32_t ties = 0;
      for (std::size_t k = 0; k < kFan && best != kOut; ++k) {
        if (of_group[k] == best) ties += ties_below == nullptr ? 1 : ties_below[group * kFan + k];
      }
      if (level.best[group] == best && level.ties[group] == ties) return;
      level.best[group] = best;
      level.ties[group] = ties;
      if (i + 1 < levels_.size()) levels_[i + 1].stale.Add(group / kFan);
    });
    level.stale.Clear();
    below = level.best.data();
    ties_below = level.ties.data();
  }
}

std::size_t BestRows::Count() {
  Refresh();
  return levels_.back().ties.front();
}

std::size_t BestRows::Nth(std::size_t skip) {
  Refresh();
  const std::int32_t best = levels_.back().best.front();
  std::size_t at = 0;
  for (std::size_t i = levels_.size() - 1; i-- > 0;) {
    const Level& level = levels_[i];
    for (at *= kFan; level.best[at] != best || level.ties[at] <= skip; ++at) {
      if (level.best[at] == best) skip -= level.ties[at];
    }
  }
  for (at *= kFan; totals_[at] != best || skip > 0; ++at) {
    if (totals_[at] == best) --skip;
  }
  return at;
}

RowSet BestRows::All() {
  Refresh();
  RowSet rows(rows_);
  const std::int32_t best = levels_.back().best.front();
  for (std::size_t row = 0; row < rows_; ++row) {
    if (totals_[row] == best) rows.Add(row);
  }
  return rows;
}

}  // namespace berth::class_memory
