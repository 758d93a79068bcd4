// The text of an expression, positions in it, and error messages that show them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::cel {

// Line from 1, column in code points from 0. -1, -1: no position.
struct Location {
  int line = -1;
  int column = -1;
};

// Positions are offsets in code points. Bytes that are not UTF-8 count as U+FFFD.
class Source {
 public:
  explicit Source(std::string_view text);

  std::size_t size() const { return points_.size(); }
  char32_t At(std::size_t offset) const { return offset < points_.size() ? points_[offset] : U'\0'; }
  // UTF-8 of [begin, end).
  std::string Slice(std::size_t begin, std::size_t end) const;
  Location LocationOf(std::int32_t offset) const;
  // The text of a line; false if there is no such line.
  bool Line(int line, std::string& text) const;

 private:
  std::vector<char32_t> points_;
  std::vector<std::int32_t> line_offsets_;  // offset of the end of each line, behind its line break
};

void AppendUtf8(std::string& out, char32_t point);

// The errors of one compilation. Of more than a hundred errors only the number is kept.
class ErrorList {
 public:
  void Add(Location location, std::string message);
  bool empty() const { return count_ == 0; }
  // All errors, ordered by position, each with its line and a mark below the column:
  //   ERROR: <input>:1:5: undeclared reference to 'x' (in container '')
  //    | 1 + x
  //    | ....^
  std::string Format(const Source& source) const;

 private:
  struct Entry {
    Location location;
    std::string message;
  };
  static constexpr std::size_t kMost = 100;
  std::vector<Entry> errors_;
  std::size_t count_ = 0;
};

}  // namespace berth::cel
