#include "cel/source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.hpp"

namespace berth::cel {
namespace {

constexpr std::size_t kLongestSnippet = 16384;  // bytes; longer lines are not shown

char32_t Decode(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  switch (bytes.size()) {
    case 1:
      return byte(0);
    case 2:
      return (byte(0) & 0x1fu) << 6 | (byte(1) & 0x3fu);
    case 3:
      return (byte(0) & 0x0fu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
    default:
      return (byte(0) & 0x07u) << 18 | (byte(1) & 0x3fu) << 12 | (byte(2) & 0x3fu) << 6 | (byte(3) & 0x3fu);
  }
}

std::string FormatError(const Source& source, Location location, const std::string& message) {
  std::string text = fmt::format("ERROR: <input>:{}:{}: {}", location.line, location.column + 1, message);
  std::string line;
  if (!source.Line(location.line, line) || line.size() > kLongestSnippet) return text;
  std::replace(line.begin(), line.end(), '\t', ' ');
  std::string mark;
  std::string_view rest = line;
  for (int i = 0; i <= location.column; ++i) {
    const std::size_t size = rest.empty() ? 0 : Utf8CharacterSize(rest);
    const bool last = i == location.column;
    if (rest.empty() && !last) continue;
    if (size > 1)
      mark += last ? "\xef\xbc\xbe" : "\xef\xbc\x8e";  // wide marks for wide characters
    else
      mark += last ? "^" : ".";
    rest.remove_prefix(size);
  }
  if (location.column < 0) mark = "^";
  return text + "\n | " + line + "\n | " + mark;
}

}  // namespace

void AppendUtf8(std::string& out, char32_t point) {
  const auto add = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xc0 | point >> 6);
    add(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    add(0xe0 | point >> 12);
    add(0x80 | (point >> 6 & 0x3f));
    add(0x80 | (point & 0x3f));
  } else {
    add(0xf0 | point >> 18);
    add(0x80 | (point >> 12 & 0x3f));
    add(0x80 | (point >> 6 & 0x3f));
    add(0x80 | (point & 0x3f));
  }
}

Source::Source(std::string_view text) {
  points_.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = Utf8CharacterSize(text);
    points_.push_back(size == 0 ? U'\ufffd' : Decode(text.substr(0, size)));
    text.remove_prefix(size == 0 ? 1 : size);
    if (points_.back() == U'\n') line_offsets_.push_back(static_cast<std::int32_t>(points_.size()));
  }
  line_offsets_.push_back(static_cast<std::int32_t>(points_.size() + 1));
}

std::string Source::Slice(std::size_t begin, std::size_t end) const {
  std::string text;
  for (std::size_t i = begin; i < std::min(end, points_.size()); ++i) AppendUtf8(text, points_[i]);
  return text;
}

Location Source::LocationOf(std::int32_t offset) const {
  const auto behind = std::upper_bound(line_offsets_.begin(), line_offsets_.end(), offset);
  const int lines = static_cast<int>(behind - line_offsets_.begin());
  return {lines + 1, lines == 0 ? offset : offset - line_offsets_[static_cast<std::size_t>(lines) - 1]};
}

bool Source::Line(int line, std::string& text) const {
  if (line < 1 || points_.empty() || line > static_cast<int>(line_offsets_.size()) + 1) return false;
  const auto index = static_cast<std::size_t>(line);
  const std::size_t begin = line == 1 ? 0 : static_cast<std::size_t>(line_offsets_[index - 2]);
  const bool last = index > line_offsets_.size();
  text = Slice(begin, last ? points_.size() : static_cast<std::size_t>(line_offsets_[index - 1] - 1));
  return true;
}

void ErrorList::Add(Location location, std::string message) {
  if (++count_ <= kMost) errors_.push_back({location, std::move(message)});
}

std::string ErrorList::Format(const Source& source) const {
  std::vector<Entry> ordered = errors_;
  std::stable_sort(ordered.begin(), ordered.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.location.line, a.location.column) < std::pair(b.location.line, b.location.column);
  });
  std::string text;
  for (const Entry& error : ordered) {
    if (!text.empty()) text += '\n';
    text += FormatError(source, error.location, error.message);
  }
  if (count_ > kMost) text += fmt::format("\n{} more errors were truncated", count_ - kMost);
  return text;
}

}  // namespace berth::cel
