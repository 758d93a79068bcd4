// One plugin's scores, by row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/row_group.hpp"
#include "base/row_set.hpp"

namespace berth::framework {

inline constexpr std::int64_t kMaxScore = 100;
constexpr bool IsScore(std::int64_t value) { return value >= 0 && value <= kMaxScore; }

// Either one value for all rows or a value per row; only the rows a plugin was asked for mean anything. Most
// plugins have nothing to say about most pods, and saying the same of all nodes then costs a single store.
// Values by row are kept as bytes where that is enough, which makes everything that follows several times
// cheaper; whoever asks for wider ones gets them.
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
  // The values by row, to be written to; what was set before is there.
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
  // The same without regard to earlier values: for plugins that write every row.
  std::span<std::int64_t> Overwrite() {
    if (values_.size() < rows_) values_.resize(rows_);
    form_ = Form::kWide;
    return {values_.data(), rows_};
  }
  // The same for plugins whose scores are within 0 and kMaxByte, normalised or not.
  std::span<std::uint8_t> OverwriteBytes() {
    if (bytes_.size() < rows_) bytes_.resize(rows_);
    form_ = Form::kBytes;
    most_ = kMaxByte;
    return {bytes_.data(), rows_};
  }
  // The rows get this value, the others keep theirs.
  void Set(const RowSet& rows, std::int64_t value);
  void Set(const RowGroup& rows, std::int64_t value);
  // The rows get so much more.
  void Add(const RowSet& rows, std::int64_t more);
  // Keeps values by row as bytes if those of `feasible` are within 0 and kMaxByte; the others may be anything
  // afterwards.
  void Shrink(const RowSet& feasible);
  // Likewise. False if some feasible row has what is no score: normalised columns have none.
  bool ShrinkToScores(const RowSet& feasible);

  bool uniform() const { return form_ == Form::kUniform; }
  std::int64_t uniform_value() const { return value_; }
  std::int64_t At(std::size_t row) const {
    return form_ == Form::kUniform ? value_ : form_ == Form::kBytes ? bytes_[row] : values_[row];
  }
  // Empty unless values by row are kept like this.
  std::span<const std::int64_t> values() const {
    return form_ == Form::kWide ? std::span(values_.data(), rows_) : std::span<const std::int64_t>();
  }
  std::span<const std::uint8_t> bytes() const {
    return form_ == Form::kBytes ? std::span(bytes_.data(), rows_) : std::span<const std::uint8_t>();
  }

 private:
  enum class Form : std::uint8_t { kUniform, kBytes, kWide };

  // Brings uniform values into bytes. False if the values are kept in another form, or do not fit.
  bool MakeBytes();

  std::vector<std::int64_t> values_;
  std::vector<std::uint8_t> bytes_;
  std::size_t rows_ = 0;
  Form form_ = Form::kUniform;
  std::int64_t value_ = 0;
  std::int64_t most_ = kMaxByte;  // no byte is higher
};

}  // namespace berth::framework
