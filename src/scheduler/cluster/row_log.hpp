// The rows of a table in the order in which they changed, as far back as a fixed number of changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth::cluster {

// A ring buffer; its memory does not grow. Readers keep the count that they have seen.
class RowLog {
 public:
  // Number of changes since the beginning.
  std::uint64_t count() const { return count_; }
  void Add(std::uint32_t row) { rows_[count_++ % kKept] = row; }
  // Calls visit(row) for each change after the first `seen`; a row may occur several times. Returns false
  // without a call if the log no longer reaches back that far.
  template <class Visit>
  bool ForEachSince(std::uint64_t seen, Visit&& visit) const {
    if (count_ - seen > kKept) return false;
    for (std::uint64_t i = seen; i < count_; ++i) visit(rows_[i % kKept]);
    return true;
  }

 private:
  static constexpr std::size_t kKept = 4096;
  std::vector<std::uint32_t> rows_ = std::vector<std::uint32_t>(kKept);
  std::uint64_t count_ = 0;
};

}  // namespace berth::cluster
