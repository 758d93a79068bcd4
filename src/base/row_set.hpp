// A set of rows of a table, one bit per row.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace berth {

// Rows are 0 .. capacity-1; a set of a smaller table is a subset of a larger one (absent words are zero). All
// operations are linear in capacity / 64 and none but Resize and assignment from a larger set allocates.
class RowSet {
 public:
  using Word = std::uint64_t;
  static constexpr std::size_t kWordBits = 64;

  RowSet() = default;
  explicit RowSet(std::size_t rows) { Resize(rows); }

  // Grows or shrinks to hold `rows` rows; new rows are not members.
  void Resize(std::size_t rows) { words_.resize((rows + kWordBits - 1) / kWordBits, 0); }
  void Clear() { std::fill(words_.begin(), words_.end(), Word{0}); }

  void Add(std::size_t row) {
    if (row / kWordBits >= words_.size()) words_.resize(row / kWordBits + 1, 0);
    words_[row / kWordBits] |= Word{1} << (row % kWordBits);
  }
  void Remove(std::size_t row) {
    if (row / kWordBits < words_.size()) words_[row / kWordBits] &= ~(Word{1} << (row % kWordBits));
  }
  bool Has(std::size_t row) const {
    return row / kWordBits < words_.size() && (words_[row / kWordBits] >> (row % kWordBits) & 1) != 0;
  }
  bool Empty() const {
    for (const Word word : words_) {
      if (word != 0) return false;
    }
    return true;
  }
  std::size_t Count() const {
    std::size_t count = 0;
    for (const Word word : words_) count += Bits(word);
    return count;
  }
  // The member before which there are `skip`, which must be fewer than Count().
  std::size_t Nth(std::size_t skip) const {
    std::size_t i = 0;
    for (; Bits(words_[i]) <= skip; ++i) skip -= Bits(words_[i]);
    Word word = words_[i];
    for (; skip > 0; --skip) word &= word - 1;
    return i * kWordBits + static_cast<std::size_t>(std::countr_zero(word));
  }

  RowSet& operator|=(const RowSet& other) {
    if (other.words_.size() > words_.size()) words_.resize(other.words_.size(), 0);
    for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
  }
  RowSet& operator&=(const RowSet& other) {
    const std::size_t common = std::min(words_.size(), other.words_.size());
    for (std::size_t i = 0; i < common; ++i) words_[i] &= other.words_[i];
    std::fill(words_.begin() + static_cast<std::ptrdiff_t>(common), words_.end(), Word{0});
    return *this;
  }
  RowSet& operator-=(const RowSet& other) {
    const std::size_t common = std::min(words_.size(), other.words_.size());
    for (std::size_t i = 0; i < common; ++i) words_[i] &= ~other.words_[i];
    return *this;
  }
  // Equal as sets, whatever the capacities.
  friend bool operator==(const RowSet& a, const RowSet& b) {
    const auto& shorter = a.words_.size() < b.words_.size() ? a.words_ : b.words_;
    const auto& longer = a.words_.size() < b.words_.size() ? b.words_ : a.words_;
    for (std::size_t i = 0; i < shorter.size(); ++i) {
      if (shorter[i] != longer[i]) return false;
    }
    for (std::size_t i = shorter.size(); i < longer.size(); ++i) {
      if (longer[i] != 0) return false;
    }
    return true;
  }

  // Calls visit(row) for every member in ascending order.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (Word word = words_[i]; word != 0; word &= word - 1) {
        visit(i * kWordBits + static_cast<std::size_t>(std::countr_zero(word)));
      }
    }
  }
  // The smallest member; the set must not be empty.
  std::size_t First() const {
    std::size_t i = 0;
    while (words_[i] == 0) ++i;
    return i * kWordBits + static_cast<std::size_t>(std::countr_zero(words_[i]));
  }

  std::span<Word> words() { return words_; }
  std::span<const Word> words() const { return words_; }

 private:
  // The baseline of x86-64 has no instruction for it, and std::popcount calls a function there.
  static std::size_t Bits(Word word) {
    word -= (word >> 1) & 0x5555'5555'5555'5555;
    word = (word & 0x3333'3333'3333'3333) + ((word >> 2) & 0x3333'3333'3333'3333);
    word = (word + (word >> 4)) & 0x0f0f'0f0f'0f0f'0f0f;
    return (word * 0x0101'0101'0101'0101) >> 56;
  }

  std::vector<Word> words_;
};

}  // namespace berth
