// Removes leading and trailing blanks.
#pragma once

#include <string_view>

namespace berth {

constexpr std::string_view Trimmed(std::string_view text, std::string_view blanks = " \t\r\n") {
  const auto begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

}  // namespace berth
