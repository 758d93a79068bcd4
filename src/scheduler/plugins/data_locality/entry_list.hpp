// Lists of names in annotations, which pod authors write.
#pragma once

#include <cstddef>
#include <string_view>

namespace berth::plugins {

// Entries are separated by commas and white space; empty ones do not count. Calls visit(std::string_view) for
// the first `most` entries that are no longer than a DNS name, and reads at most kLongestList bytes. Returns
// the number of other entries; text beyond kLongestList counts as one.
template <class Visit>
std::size_t ForEachEntry(std::string_view text, std::size_t most, Visit&& visit);

inline constexpr std::size_t kLongestEntry = 253;
inline constexpr std::size_t kLongestList = 16 << 10;

// --- implementation ---

template <class Visit>
std::size_t ForEachEntry(std::string_view text, std::size_t most, Visit&& visit) {
  constexpr std::string_view kSeparators = ", \t\r\n";
  std::size_t ignored = text.size() > kLongestList ? 1 : 0;
  text = text.substr(0, kLongestList);
  std::size_t visited = 0;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kSeparators);
    if (begin == text.npos) return ignored;
    text.remove_prefix(begin);
    const std::string_view entry = text.substr(0, text.find_first_of(kSeparators));
    text.remove_prefix(entry.size());
    if (visited == most || entry.size() > kLongestEntry) {
      ++ignored;
    } else {
      ++visited;
      visit(entry);
    }
  }
}

}  // namespace berth::plugins
