#include "sandbox/apiserver/duplicates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace berth::sandbox {
namespace {

constexpr std::size_t kReported = 100;  // as kube-apiserver

// An open object or array around the current position.
struct Level {
  bool object = false;
  std::set<std::string, std::less<>> keys;
  std::string key;        // the current member
  std::size_t index = 0;  // the current element
};

std::string PathOf(const std::vector<Level>& levels) {
  std::string path;
  for (const auto& level : levels) {
    if (!level.object)
      path += fmt::format("[{}]", level.index);
    else
      path.append(path.empty() ? "" : ".").append(level.key);
  }
  return path;
}

// The text between quotes with its escapes; `at` moves past the closing quote.
std::string_view QuotedAt(std::string_view text, std::size_t& at) {
  const std::size_t begin = ++at;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  const auto quoted = text.substr(begin, std::min(at, text.size()) - begin);
  ++at;
  return quoted;
}

}  // namespace

std::vector<std::string> DuplicateFields(std::string_view text) {
  std::vector<std::string> found;
  std::vector<Level> levels;
  std::size_t duplicates = 0;
  bool key_next = false;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      const auto quoted = QuotedAt(text, at);
      if (!key_next) continue;
      key_next = false;
      levels.back().key = quoted;
      if (levels.back().keys.emplace(quoted).second) continue;
      if (++duplicates > kReported) return found;
      std::string path = PathOf(levels);
      if (std::ranges::find(found, path) == found.end()) found.push_back(std::move(path));
      continue;
    }
    if (c == '{' || c == '[') {
      levels.push_back({.object = c == '{', .keys = {}, .key = {}, .index = 0});
      key_next = c == '{';
    } else if ((c == '}' || c == ']') && !levels.empty()) {
      levels.pop_back();
      key_next = false;
    } else if (c == ',' && !levels.empty()) {
      key_next = levels.back().object;
      ++levels.back().index;
    }
    ++at;
  }
  return found;
}

}  // namespace berth::sandbox
