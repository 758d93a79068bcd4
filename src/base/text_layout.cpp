#include "base/text_layout.hpp"

#include <algorithm>

namespace berth {

void AppendWrapped(std::string& text, std::string_view words, std::size_t indent, std::size_t width) {
  std::size_t column = indent;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (column > indent && column + 1 + end > width) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      text += ' ';
      ++column;
    }
    text += words.substr(0, end);
    column += end;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

std::string WithCommas(std::size_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

}  // namespace berth
