#include "tools/demo/command_line.hpp"

#include <fstream>

namespace berth::demo {

std::vector<std::string> CommandLine(std::string_view text,
                                     const std::vector<std::pair<std::string, std::string>>& replacements) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? 0 : c;
      in_word = true;
    } else if (quote == 0 && c == ' ') {
      if (std::exchange(in_word, false)) words.push_back(std::exchange(word, {}));
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) words.push_back(word);
  for (auto& each : words) {
    for (const auto& [name, value] : replacements) {
      const std::string place = "{" + name + "}";
      for (auto at = each.find(place); at != std::string::npos; at = each.find(place, at + value.size())) {
        each.replace(at, place.size(), value);
      }
    }
  }
  return words;
}

std::string LastLines(const std::string& file, std::size_t lines) {
  std::ifstream input(file);
  std::vector<std::string> all;
  for (std::string line; std::getline(input, line);) all.push_back(std::move(line));
  std::string text;
  for (std::size_t i = all.size() > lines ? all.size() - lines : 0; i < all.size(); ++i)
    text += "  " + all[i] + "\n";
  return text;
}

}  // namespace berth::demo
