#include "scheduler/framework/score_column.hpp"

#include <algorithm>

#include "scheduler/framework/score_kernels.hpp"

namespace berth::framework {
namespace {

// Whether a loop over the blocks with rows is much shorter than one over all rows.
bool IsSparse(const RowSet& rows, std::size_t all_rows) {
  const RowSet::Blocks blocks = rows.blocks(all_rows);
  std::size_t more = blocks.size() / 4;
  for (std::size_t block = blocks.First(); block < blocks.size(); block = blocks.Next(block)) {
    if (more-- == 0) return false;
  }
  return true;
}

bool IsByte(std::int64_t value) { return value >= 0 && value <= ScoreColumn::kMaxByte; }

}  // namespace

bool ScoreColumn::MakeBytes() {
  if (form_ == Form::kUniform && IsByte(value_)) {
    std::ranges::fill(OverwriteBytes(), static_cast<std::uint8_t>(value_));
    most_ = value_;
  }
  return form_ == Form::kBytes;
}

void ScoreColumn::Set(const RowSet& rows, std::int64_t value) {
  if (IsByte(value) && MakeBytes()) {
    most_ = std::max(most_, value);
    SetBytes({bytes_.data(), rows_}, rows, static_cast<std::uint8_t>(value));
    return;
  }
  const auto values = Mutable();
  rows.ForEach([&](std::size_t row) { values[row] = value; });
}

void ScoreColumn::Set(const RowGroup& rows, std::int64_t value) {
  if (const RowSet* bits = rows.bits()) return Set(*bits, value);
  if (IsByte(value) && MakeBytes()) {
    most_ = std::max(most_, value);
    rows.ForEach([&](std::size_t row) { bytes_[row] = static_cast<std::uint8_t>(value); });
    return;
  }
  const auto values = Mutable();
  rows.ForEach([&](std::size_t row) { values[row] = value; });
}

void ScoreColumn::Add(const RowSet& rows, std::int64_t more) {
  if (IsByte(more) && MakeBytes() && most_ + more <= kMaxByte) {
    most_ += more;
    AddToBytes({bytes_.data(), rows_}, rows, static_cast<std::uint8_t>(more));
    return;
  }
  const auto values = Mutable();
  rows.ForEach([&](std::size_t row) { values[row] += more; });
}

void ScoreColumn::Shrink(const RowSet& feasible) {
  if (form_ != Form::kWide) return;
  const std::span<const std::int64_t> from = values();
  if (LowestBytes(from, feasible, OverwriteBytes()) > std::uint64_t{kMaxByte}) form_ = Form::kWide;
}

// Rows that are not feasible may hold any value but rarely hold an invalid one. Checking all rows first is
// cheaper, unless few of them are feasible.
bool ScoreColumn::ShrinkToScores(const RowSet& feasible) {
  Shrink(feasible);
  if (uniform()) return IsScore(value_);
  const auto scores = bytes();
  if (scores.empty()) return false;
  if (IsScore(most_)) return true;
  return (!IsSparse(feasible, rows_) && IsScore(MaxByte(scores))) || IsScore(MaxByte(scores, feasible));
}

}  // namespace berth::framework
