#include "base/name_ranges.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string_view>

namespace berth {
namespace {

constexpr std::size_t kMostDigits = 18;  // fits std::uint64_t

struct NumberedName {
  std::string_view stem;
  std::string_view digits;  // empty: no number
  std::uint64_t number = 0;
};

NumberedName SplitName(std::string_view name) {
  std::size_t at = name.size();
  while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9' && name.size() - at < kMostDigits) --at;
  NumberedName split{name.substr(0, at), name.substr(at)};
  std::from_chars(split.digits.data(), split.digits.data() + split.digits.size(), split.number);
  return split;
}

// Whether `next` is one more than `last` in the same notation: 9 and 10, 009 and 010, but not 9 and 010.
bool Continues(const NumberedName& last, const NumberedName& next) {
  if (next.number != last.number + 1) return false;
  if (next.digits.size() == last.digits.size()) return true;
  return next.digits.front() != '0' && last.digits.front() != '0';
}

// The names of one stem: "gpu-[1-3,7]", or the only name. `covered` receives the number of names in it.
std::string StemText(std::vector<NumberedName> names, std::size_t most, std::size_t& covered) {
  std::ranges::stable_sort(names, {}, &NumberedName::number);
  covered = names.size();
  if (names.size() == 1) return std::string(names.front().stem) + std::string(names.front().digits);
  std::string list;
  std::size_t ranges = 0;
  for (std::size_t first = 0; first < names.size();) {
    if (ranges++ == most) {
      covered = first;
      break;
    }
    std::size_t last = first;
    while (last + 1 < names.size() && Continues(names[last], names[last + 1])) ++last;
    if (!list.empty()) list += ',';
    list += names[first].digits;
    if (last > first) (list += '-') += names[last].digits;
    first = last + 1;
  }
  return std::string(names.front().stem) + "[" + list + "]";
}

}  // namespace

std::string NameRanges(const std::vector<std::string>& names, std::size_t most) {
  // In the order of the first name of each stem. Names without a number are stems of their own.
  std::vector<std::vector<NumberedName>> groups;
  std::map<std::string_view, std::size_t> index;
  for (const std::string& name : names) {
    const NumberedName split = SplitName(name);
    if (split.digits.empty()) {
      groups.push_back({split});
      continue;
    }
    const auto [found, added] = index.try_emplace(split.stem, groups.size());
    if (added) groups.emplace_back();
    groups[found->second].push_back(split);
  }
  std::string text;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < std::min(groups.size(), most); ++i) {
    std::size_t covered = 0;
    if (!text.empty()) text += ", ";
    text += StemText(groups[i], most, covered);
    shown += covered;
  }
  if (shown < names.size()) text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

}  // namespace berth
