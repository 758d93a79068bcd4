#include "class_memory/best_rows.hpp"

#include <algorithm>

namespace berth::class_memory {

void BestRows::Reset(std::size_t rows) {
  rows_ = rows;
  const std::size_t blocks = (rows + kBlock - 1) / kBlock;
  totals_.assign(blocks * kBlock, kOut);
  best_.assign(blocks, kOut);
  ties_.assign(blocks, 0);
  stale_ = RowSet(blocks);
}

void BestRows::Refresh() {
  stale_.ForEach([&](std::size_t block) {
    const std::int32_t* totals = totals_.data() + block * kBlock;
    std::int32_t best = kOut;
    for (std::size_t i = 0; i < kBlock; ++i) best = std::max(best, totals[i]);
    std::uint32_t ties = 0;
    for (std::size_t i = 0; i < kBlock; ++i) ties += totals[i] == best ? 1 : 0;
    best_[block] = best;
    ties_[block] = best == kOut ? 0 : ties;
  });
  stale_.Clear();
}

std::size_t BestRows::Count() {
  Refresh();
  std::int32_t best = kOut;
  for (const std::int32_t of_block : best_) best = std::max(best, of_block);
  std::size_t count = 0;
  for (std::size_t i = 0; i < best_.size(); ++i) count += best_[i] == best ? ties_[i] : 0;
  return count;
}

std::size_t BestRows::Nth(std::size_t skip) {
  Refresh();
  const std::int32_t best = *std::ranges::max_element(best_);
  std::size_t block = 0;
  for (; best_[block] != best || ties_[block] <= skip; ++block) {
    if (best_[block] == best) skip -= ties_[block];
  }
  std::size_t row = block * kBlock;
  for (; totals_[row] != best || skip > 0; ++row) {
    if (totals_[row] == best) --skip;
  }
  return row;
}

RowSet BestRows::All() {
  Refresh();
  RowSet rows(rows_);
  const std::int32_t best = *std::ranges::max_element(best_);
  for (std::size_t row = 0; row < rows_; ++row) {
    if (totals_[row] == best) rows.Add(row);
  }
  return rows;
}

}  // namespace berth::class_memory
