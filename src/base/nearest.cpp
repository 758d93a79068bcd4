#include "base/nearest.hpp"

#include <algorithm>
#include <vector>

#include "base/ascii.hpp"

namespace berth {
namespace {

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      const std::size_t replace = diagonal + (ToAsciiLower(a[i - 1]) == ToAsciiLower(b[j - 1]) ? 0 : 1);
      row[j] = std::min({replace, above + 1, row[j - 1] + 1});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Nearest(std::string_view text, std::span<const std::string> candidates) {
  constexpr std::size_t kLongestWord = 100;
  if (text.size() > kLongestWord) return "";
  const std::string* best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(2, text.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    // A prefix of a word is as likely an abbreviation as a misspelling.
    constexpr std::size_t kShortestPrefix = 3;
    const bool begins = text.size() >= kShortestPrefix && candidate.starts_with(text);
    const std::size_t distance = begins ? 1 : EditDistance(text, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = &candidate;
    }
  }
  return best == nullptr ? "" : *best;
}

}  // namespace berth
