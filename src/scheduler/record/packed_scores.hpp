// The scores of one plugin by row, in as few bits as they need: most columns have few different scores, such
// as 0 and 100 for a preference. A thousand nodes take 125 to 1,000 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/row_set.hpp"
#include "base/vectorized.hpp"

namespace berth::record {

// A score is lowest + step * code, where a code has `bits` bits.
struct ScoreCode {
  std::uint8_t lowest = 0;
  std::uint8_t step = 0;
  std::uint8_t bits = 0;  // 0 (one score for all rows), 1, 2, 4 or 8

  std::size_t WordsFor(std::size_t rows) const { return BlocksOf(rows) * bits; }
  friend bool operator==(const ScoreCode&, const ScoreCode&) = default;
};

// A code for the scores of the feasible rows, all of which are below scores.size(): with the fewest bits,
// unless the scores of other rows happen to fit in 4 bits, too.
ScoreCode NarrowestCode(std::span<const std::uint8_t> scores, const RowSet& feasible,
                        VectorLevel level = BestVectorLevel());

// Writes the codes of all rows to `out`, which has code.WordsFor(scores.size()) words. The code must be able
// to represent the scores of the rows that will be read.
void Pack(std::span<const std::uint8_t> scores, ScoreCode code, std::span<std::uint64_t> out,
          VectorLevel level = BestVectorLevel());

// A view of packed scores; the words must outlive it.
class PackedScores {
 public:
  PackedScores() = default;
  PackedScores(ScoreCode code, std::span<const std::uint64_t> words) : code_(code), words_(words) {}

  ScoreCode code() const { return code_; }
  std::span<const std::uint64_t> words() const { return words_; }
  std::size_t Bytes() const { return words_.size_bytes(); }
  // Unspecified for rows that were not feasible when the code was chosen.
  std::uint8_t operator[](std::size_t row) const;

 private:
  ScoreCode code_;
  std::span<const std::uint64_t> words_;  // by block: `bits` words
};

}  // namespace berth::record
