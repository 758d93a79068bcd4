// The scores of one plugin, by row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/row_group.hpp"
#include "base/row_set.hpp"

namespace berth::framework {

inline constexpr std::int64_t kMaxScore = 100;
// Whether the value is a valid normalized score.
constexpr bool IsScore(std::int64_t value) { return value >= 0 && value <= kMaxScore; }

// Stores one value for all rows or a value per row; only the rows for which the plugin was called are
// meaningful. A plugin that gives all nodes the same score performs a single store. Values per row are stored
// as bytes if they fit, which makes normalization and summing several times faster; otherwise as 64-bit
// integers.
class ScoreColumn {
 public:
  static constexpr std::int64_t kMaxByte = 255;

  void Reset(std::size_t rows) {
    rows_ = rows;
    SetAll(0);
  }
  void SetAll(std::int64_t value) {
    form_ = Form::kUniform;
    value_ = value;
  }
  // The values by row, writable. They contain the previous values.
  std::span<std::int64_t> Mutable() {
    if (form_ == Form::kWide) return Overwrite();
    const Form before = form_;
    const auto values = Overwrite();
    if (before == Form::kUniform) {
      std::ranges::fill(values, value_);
    } else {
      std::copy_n(bytes_.begin(), rows_, values.begin());
    }
    return values;
  }
  // As Mutable, but with undefined contents: for plugins that write every row.
  std::span<std::int64_t> Overwrite() {
    if (values_.size() < rows_) values_.resize(rows_);
    form_ = Form::kWide;
    return {values_.data(), rows_};
  }
  // As Overwrite, for scores from 0 to `most` (<= kMaxByte); up to kMaxScore they are not checked afterwards.
  std::span<std::uint8_t> OverwriteBytes(std::int64_t most = kMaxByte) {
    if (bytes_.size() < rows_) bytes_.resize(rows_);
    form_ = Form::kBytes;
    most_ = most;
    return {bytes_.data(), rows_};
  }
  // Sets the value of these rows; other rows keep theirs.
  void Set(const RowSet& rows, std::int64_t value);
  void Set(const RowGroup& rows, std::int64_t value);
  // Adds `more` to the value of these rows.
  void Add(const RowSet& rows, std::int64_t more);
  // Converts values to bytes if the values of all `feasible` rows are between 0 and kMaxByte. The values of
  // other rows are undefined afterwards.
  void Shrink(const RowSet& feasible);
  // As Shrink, for normalized scores. Returns false if the value of a feasible row is not between 0 and
  // kMaxScore.
  bool ShrinkToScores(const RowSet& feasible);

  bool uniform() const { return form_ == Form::kUniform; }
  std::int64_t uniform_value() const { return value_; }
  std::int64_t At(std::size_t row) const {
    return form_ == Form::kUniform ? value_ : form_ == Form::kBytes ? bytes_[row] : values_[row];
  }
  // The values by row in this representation; empty if another one is in use.
  std::span<const std::int64_t> values() const {
    return form_ == Form::kWide ? std::span(values_.data(), rows_) : std::span<const std::int64_t>();
  }
  std::span<const std::uint8_t> bytes() const {
    return form_ == Form::kBytes ? std::span(bytes_.data(), rows_) : std::span<const std::uint8_t>();
  }

 private:
  enum class Form : std::uint8_t { kUniform, kBytes, kWide };

  // Converts a uniform value to bytes. Returns false if the values are wide or do not fit.
  bool MakeBytes();

  std::vector<std::int64_t> values_;
  std::vector<std::uint8_t> bytes_;
  std::size_t rows_ = 0;
  Form form_ = Form::kUniform;
  std::int64_t value_ = 0;
  std::int64_t most_ = kMaxByte;  // upper bound of the bytes of feasible rows
};

}  // namespace berth::framework
