#include "scheduler/equivalence_cache/tournament_tree.hpp"

#include <algorithm>
#include <utility>

namespace berth::equivalence_cache {

void TournamentTree::Reset(std::size_t rows) {
  rows_ = rows;
  totals_.assign(std::max<std::size_t>(BlocksOf(rows), 1) * kBlockRows, kExcluded);
  levels_.clear();
  std::size_t below = totals_.size();
  do {
    const std::size_t groups = (below + kFan - 1) / kFan;
    levels_.emplace_back(groups == 1 ? 1 : (groups + kFan - 1) / kFan * kFan);
    below = groups;
  } while (below > 1);
}

// Of the totals of one group of the lowest level.
struct TournamentTree::SummaryKernel {
  template <VectorLevel>
  BERTH_KERNEL Group Run(const std::int32_t* totals) {
    std::int32_t best = kExcluded;
    for (std::size_t i = 0; i < kFan; ++i) best = totals[i] > best ? totals[i] : best;
    std::uint32_t ties = 0;
    for (std::size_t i = 0; i < kFan; ++i) ties += totals[i] == best ? 1 : 0;
    return {best, best == kExcluded ? 0 : ties};
  }
};

// Computes the totals and the lowest level.
struct TournamentTree::TotalsKernel {
  template <VectorLevel kLevel>
  BERTH_KERNEL void Run(std::span<const Part> parts, RowSet::Blocks rows, std::span<std::int32_t> totals,
                        Group* groups) {
    static_assert(kBlockRows % kFan == 0);
    std::uint8_t padding[kBlockRows];
    for (std::size_t block = 0; block < totals.size() / kBlockRows; ++block) {
      std::int32_t sums[kBlockRows] = {};
      for (const Part& part : parts) {
        const std::uint8_t* scores = BlockOf(part.scores.data(), part.scores.size(), block, padding);
        for (std::size_t i = 0; i < kBlockRows; ++i) sums[i] += part.weight * scores[i];
      }
      std::int8_t mask[kBlockRows];
      SpreadBits(block < rows.size() ? rows[block] : 0, mask);
      std::int32_t* __restrict kept = totals.data() + block * kBlockRows;
      for (std::size_t i = 0; i < kBlockRows; ++i) kept[i] = mask[i] != 0 ? sums[i] : kExcluded;
      for (std::size_t i = 0; i < kBlockRows; i += kFan)
        groups[(block * kBlockRows + i) / kFan] = SummaryKernel::Run<kLevel>(kept + i);
    }
  }
};

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
  if (level == 0)
    return RunVectorized<SummaryKernel>(BestVectorLevel(), static_cast<const std::int32_t*>(&totals_[first]));
  Group found;
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

void TournamentTree::SetAll(const RowSet& rows, std::span<const Part> parts, VectorLevel level) {
  RunVectorized<TotalsKernel>(level, parts, rows.blocks(rows_), std::span(totals_), levels_.front().data());
  for (std::size_t at_level = 1; at_level < levels_.size(); ++at_level) {
    for (std::size_t at = 0; at < levels_[at_level - 1].size() / kFan; ++at)
      levels_[at_level][at] = Summarize(at_level, at);
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
