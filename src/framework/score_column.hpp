// One plugin's scores, by row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace berth::framework {

inline constexpr std::int64_t kMaxScore = 100;

// Either one value for all rows or a value per row; only the rows a plugin was asked for mean anything. Most
// plugins have nothing to say about most pods, and saying the same of all nodes then costs a single store.
class ScoreColumn {
 public:
  void Reset(std::size_t rows) {
    rows_ = rows;
    uniform_ = true;
    value_ = 0;
  }
  void SetAll(std::int64_t value) {
    uniform_ = true;
    value_ = value;
  }
  // The values by row, to be written to; what was set for all rows before is there.
  std::span<std::int64_t> Mutable() {
    if (uniform_) {
      if (values_.size() < rows_) values_.resize(rows_);
      std::fill_n(values_.begin(), rows_, value_);
      uniform_ = false;
    }
    return {values_.data(), rows_};
  }
  // The same without regard to earlier values: for plugins that write every row.
  std::span<std::int64_t> Overwrite() {
    if (values_.size() < rows_) values_.resize(rows_);
    uniform_ = false;
    return {values_.data(), rows_};
  }

  bool uniform() const { return uniform_; }
  std::int64_t uniform_value() const { return value_; }
  std::int64_t At(std::size_t row) const { return uniform_ ? value_ : values_[row]; }
  // Empty while uniform.
  std::span<const std::int64_t> values() const {
    return uniform_ ? std::span<const std::int64_t>() : std::span(values_.data(), rows_);
  }

 private:
  std::vector<std::int64_t> values_;
  std::size_t rows_ = 0;
  bool uniform_ = true;
  std::int64_t value_ = 0;
};

}  // namespace berth::framework
