#include "scheduler/equivalence_cache/tournament_tree.hpp"

#include <algorithm>
#include <utility>

namespace berth::equivalence_cache {

void TournamentTree::Reset(std::size_t rows) {
  rows_ = rows;
  levels_.clear();
  std::size_t below = rows;
  do {
    const std::size_t groups = std::max<std::size_t>((below + kFan - 1) / kFan, 1);
    if (levels_.empty()) totals_.assign(groups * kFan, kExcluded);
    levels_.emplace_back(groups == 1 ? 1 : (groups + kFan - 1) / kFan * kFan);
    below = groups;
  } while (below > 1);
}

void TournamentTree::Set(std::size_t row, std::int32_t total) {
  const auto alone = [](std::int32_t of_row) { return Group{of_row, of_row == kExcluded ? 0U : 1U}; };
  Group before = alone(std::exchange(totals_[row], total));
  Group after = alone(total);
  std::size_t at = row;
  for (std::size_t level = 0; level < levels_.size() && before != after; ++level) {
    at /= kFan;
    Group& group = levels_[level][at];
    const Group was = group;
    if (after.best > group.best) {
      group = after;
    } else {
      if (before.best == group.best) group.ties -= before.ties;
      if (after.best == group.best) group.ties += after.ties;
      if (group.ties == 0) group = Summarize(level, at);
    }
    before = was;
    after = group;
  }
}

TournamentTree::Group TournamentTree::Summarize(std::size_t level, std::size_t at) const {
  const std::size_t first = at * kFan;
  Group found;
  if (level == 0) {
    for (std::size_t i = first; i < first + kFan; ++i) found.best = std::max(found.best, totals_[i]);
    if (found.best == kExcluded) return found;
    for (std::size_t i = first; i < first + kFan; ++i) found.ties += totals_[i] == found.best ? 1 : 0;
    return found;
  }
  const std::vector<Group>& below = levels_[level - 1];
  for (std::size_t i = first; i < first + kFan; ++i) {
    if (below[i].best > found.best) {
      found = below[i];
    } else if (below[i].best == found.best) {
      found.ties += below[i].ties;
    }
  }
  return found;
}

void TournamentTree::RebuildLevels() {
  for (std::size_t level = 0, below = totals_.size(); level < levels_.size(); ++level) {
    for (std::size_t at = 0; at < below / kFan; ++at) levels_[level][at] = Summarize(level, at);
    below = levels_[level].size();
  }
}

std::size_t TournamentTree::Nth(std::size_t skip) const {
  const std::int32_t best = levels_.back().front().best;
  std::size_t at = 0;
  for (std::size_t level = levels_.size() - 1; level-- > 0;) {
    const std::vector<Group>& groups = levels_[level];
    for (at *= kFan; groups[at].best != best || groups[at].ties <= skip; ++at) {
      if (groups[at].best == best) skip -= groups[at].ties;
    }
  }
  for (at *= kFan; totals_[at] != best || skip > 0; ++at) {
    if (totals_[at] == best) --skip;
  }
  return at;
}

RowSet TournamentTree::All() const {
  RowSet rows(rows_);
  const std::int32_t best = levels_.back().front().best;
  for (std::size_t row = 0; row < rows_; ++row) {
    if (totals_[row] == best) rows.Add(row);
  }
  return rows;
}

}  // namespace berth::equivalence_cache
