// A set of rows of a table, one bit per row.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace berth {

// Rows are 0 .. capacity-1. Sets of different capacities can be combined: absent words count as zero. A
// summary level holds one bit per word, its mark: a word without a mark is zero. So an operation on a few
// rows of a large table costs little more than the rows; with many rows it is linear in capacity / 64. Only
// Resize and assignment from a larger set allocate.
class RowSet {
 public:
  using Word = std::uint64_t;
  static constexpr std::size_t kWordBits = 64;

  // The words of a set, for loops over columns in blocks: the rows of one word are one block. The non-empty
  // words are First(), Next(that), ... until size().
  class Blocks {
   public:
    [[gnu::always_inline]] Blocks(std::span<const Word> words, const Word* marks)
        : words_(words), marks_(marks) {}
    [[gnu::always_inline]] std::size_t size() const { return words_.size(); }
    [[gnu::always_inline]] Word operator[](std::size_t block) const { return words_[block]; }
    [[gnu::always_inline]] std::size_t First() const { return From(0); }
    [[gnu::always_inline]] std::size_t Next(std::size_t block) const { return From(block + 1); }

   private:
    [[gnu::always_inline]] std::size_t From(std::size_t block) const {
      while (block < words_.size()) {
        const Word marks = marks_[block / kWordBits] >> (block % kWordBits);
        if (marks == 0) {
          block = (block / kWordBits + 1) * kWordBits;
          continue;
        }
        block += static_cast<std::size_t>(std::countr_zero(marks));
        if (block >= words_.size()) break;
        if (words_[block] != 0) return block;
        ++block;
      }
      return words_.size();
    }
    std::span<const Word> words_;
    const Word* marks_;
  };

  RowSet() = default;
  explicit RowSet(std::size_t rows) { Resize(rows); }
  RowSet(const RowSet&) = default;
  RowSet(RowSet&&) = default;
  RowSet& operator=(RowSet&&) = default;
  RowSet& operator=(const RowSet& other) {
    if (this == &other) return *this;
    Clear();
    ResizeWords(other.words_.size());
    return *this |= other;
  }
  ~RowSet() = default;

  // Grows or shrinks to hold `rows` rows; new rows are not members.
  void Resize(std::size_t rows) { ResizeWords((rows + kWordBits - 1) / kWordBits); }
  void Clear() {
    ForMarked(marks_, [&](std::size_t i) { words_[i] = 0; });
    std::ranges::fill(marks_, Word{0});
  }

  void Add(std::size_t row) {
    const std::size_t word = row / kWordBits;
    if (word >= words_.size()) ResizeWords(word + 1);
    words_[word] |= BitOf(row);
    marks_[word / kWordBits] |= BitOf(word);
  }
  void Remove(std::size_t row) {
    if (row / kWordBits < words_.size()) words_[row / kWordBits] &= ~BitOf(row);
  }
  bool Has(std::size_t row) const {
    return row / kWordBits < words_.size() && (words_[row / kWordBits] & BitOf(row)) != 0;
  }
  bool Empty() const {
    return !AnyMarked([&](std::size_t i) { return words_[i] != 0; });
  }
  // Whether Count() > some; stops counting early.
  bool HasMoreThan(std::size_t some) const {
    std::size_t count = 0;
    return AnyMarked([&](std::size_t i) { return (count += Bits(words_[i])) > some; });
  }
  std::size_t Count() const {
    std::size_t count = 0;
    ForMarked(marks_, [&](std::size_t i) { count += Bits(words_[i]); });
    return count;
  }
  // The member with `skip` smaller members; `skip` must be less than Count().
  std::size_t Nth(std::size_t skip) const {
    const Blocks all = blocks();
    std::size_t i = all.First();
    for (; Bits(words_[i]) <= skip; i = all.Next(i)) skip -= Bits(words_[i]);
    Word word = words_[i];
    for (; skip > 0; --skip) word &= word - 1;
    return i * kWordBits + static_cast<std::size_t>(std::countr_zero(word));
  }
  // The smallest member; the set must not be empty.
  std::size_t First() const { return Nth(0); }

  RowSet& operator|=(const RowSet& other) {
    if (other.words_.size() > words_.size()) ResizeWords(other.words_.size());
    ForMarked(other.marks_, [&](std::size_t i) { words_[i] |= other.words_[i]; });
    for (std::size_t i = 0; i < other.marks_.size(); ++i) marks_[i] |= other.marks_[i];
    return *this;
  }
  RowSet& operator&=(const RowSet& other) {
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      const Word marks = i < other.marks_.size() ? other.marks_[i] : 0;
      ForBits(marks_[i] & ~marks, i * kWordBits, [&](std::size_t word) { words_[word] = 0; });
      marks_[i] &= marks;
      KeepMarks(i, [&](std::size_t word) { return words_[word] &= other.words_[word]; });
    }
    return *this;
  }
  RowSet& operator-=(const RowSet& other) {
    for (std::size_t i = 0; i < std::min(marks_.size(), other.marks_.size()); ++i) {
      const Word untouched = marks_[i] & ~other.marks_[i];
      marks_[i] &= other.marks_[i];
      KeepMarks(i, [&](std::size_t word) { return words_[word] &= ~other.words_[word]; });
      marks_[i] |= untouched;
    }
    return *this;
  }
  bool IsSubsetOf(const RowSet& whole) const {
    return !AnyMarked(
        [&](std::size_t i) { return (words_[i] & ~(i < whole.words_.size() ? whole.words_[i] : 0)) != 0; });
  }
  // Equal as sets; capacities may differ.
  friend bool operator==(const RowSet& a, const RowSet& b) { return a.IsSubsetOf(b) && b.IsSubsetOf(a); }

  // Calls visit(row) for every member in ascending order.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    ForMarked(marks_, [&](std::size_t i) {
      for (Word word = words_[i]; word != 0; word &= word - 1)
        visit(i * kWordBits + static_cast<std::size_t>(std::countr_zero(word)));
    });
  }

  // Whether is_it(row) is true for any member. Visits members in ascending order and stops at the first
  // match.
  template <class Predicate>
  bool AnyOf(Predicate&& is_it) const {
    return AnyMarked([&](std::size_t i) {
      for (Word word = words_[i]; word != 0; word &= word - 1) {
        if (is_it(i * kWordBits + static_cast<std::size_t>(std::countr_zero(word)))) return true;
      }
      return false;
    });
  }

  std::span<const Word> words() const { return words_; }
  // The words that cover the first `rows` rows.
  Blocks blocks(std::size_t rows = SIZE_MAX) const {
    const std::size_t within = rows / kWordBits + (rows % kWordBits != 0 ? 1 : 0);
    return {words().first(std::min(words_.size(), within)), marks_.data()};
  }
  // Words for writing: anywhere, or only into words in which `where` has members. Nothing shrinks meanwhile.
  Word* MutableWords() {
    std::ranges::fill(marks_, ~Word{0});
    CutMarks();
    return words_.data();
  }
  Word* MutableWords(const RowSet& where) {
    for (std::size_t i = 0; i < std::min(marks_.size(), where.marks_.size()); ++i)
      marks_[i] |= where.marks_[i];
    CutMarks();
    return words_.data();
  }

 private:
  static Word BitOf(std::size_t i) { return Word{1} << (i % kWordBits); }
  // The x86-64 baseline has no popcount instruction, and std::popcount would call a library function.
  static std::size_t Bits(Word word) {
    word -= (word >> 1) & 0x5555'5555'5555'5555;
    word = (word & 0x3333'3333'3333'3333) + ((word >> 2) & 0x3333'3333'3333'3333);
    word = (word + (word >> 4)) & 0x0f0f'0f0f'0f0f'0f0f;
    return (word * 0x0101'0101'0101'0101) >> 56;
  }

  // Calls visit(base + i) for each bit i. If all words from the first on are marked, as in a set of most
  // rows, a plain loop is used, which the compiler vectorizes.
  template <class Visit>
  static void ForBits(Word bits, std::size_t base, Visit&& visit) {
    if ((bits & (bits + 1)) == 0) {
      const auto end = base + static_cast<std::size_t>(std::countr_one(bits));
      for (std::size_t i = base; i < end; ++i) visit(i);
    } else {
      for (; bits != 0; bits &= bits - 1) visit(base + static_cast<std::size_t>(std::countr_zero(bits)));
    }
  }
  template <class Visit>
  static void ForMarked(std::span<const Word> marks, Visit&& visit) {
    for (std::size_t i = 0; i < marks.size(); ++i) ForBits(marks[i], i * kWordBits, visit);
  }
  // Whether is_it(index) is true for any marked word; stops at the first match.
  template <class Predicate>
  bool AnyMarked(Predicate&& is_it) const {
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      for (Word marks = marks_[i]; marks != 0; marks &= marks - 1) {
        if (is_it(i * kWordBits + static_cast<std::size_t>(std::countr_zero(marks)))) return true;
      }
    }
    return false;
  }
  // Changes the words under one word of marks; clears the marks of words that become zero if only few are
  // marked.
  template <class Change>
  void KeepMarks(std::size_t i, Change&& change) {
    const Word marks = marks_[i];
    if ((marks & (marks + 1)) == 0) return ForBits(marks, i * kWordBits, change);
    ForBits(marks, i * kWordBits, [&](std::size_t word) {
      if (change(word) == 0) marks_[i] &= ~BitOf(word);
    });
  }

  void ResizeWords(std::size_t words) {
    if (words == words_.size()) return;
    words_.resize(words, 0);
    marks_.resize((words + kWordBits - 1) / kWordBits, 0);
    CutMarks();
  }
  void CutMarks() {
    if (const std::size_t rest = words_.size() % kWordBits; rest != 0) marks_.back() &= BitOf(rest) - 1;
  }

  std::vector<Word> words_;
  std::vector<Word> marks_;
};

}  // namespace berth
