// Splits a stream of bytes into lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace berth::http {

// Lines end with \n, which is removed; empty lines are dropped. A line within one chunk is not copied.
class LineSplitter {
 public:
  static constexpr std::string_view kPiece = "line";

  explicit LineSplitter(std::size_t max_line_bytes) : max_line_bytes_(max_line_bytes) {}

  // Calls take(line) for every line that `chunk` completes, until it returns false. Returns false if a line
  // is longer than allowed or `take` returned false; the splitter must not be used any more.
  template <class Take>
  [[nodiscard]] bool Feed(std::string_view chunk, Take&& take) {
    while (true) {
      const auto end = chunk.find('\n');
      if (end == chunk.npos) break;
      const std::string_view line = Complete(chunk.substr(0, end));
      if (line.size() > max_line_bytes_) return false;
      if (!line.empty() && !take(line)) return false;
      begun_.clear();
      chunk.remove_prefix(end + 1);
    }
    begun_ += chunk;
    return begun_.size() <= max_line_bytes_;
  }

  // The stream has ended: the text after the last \n is passed as a line, complete or cut off. Returns true.
  template <class Take>
  bool End(Take&& take) {
    if (!begun_.empty()) static_cast<void>(take(std::string_view(begun_)));
    return true;
  }

 private:
  std::string_view Complete(std::string_view tail) {
    if (begun_.empty()) return tail;
    begun_ += tail;
    return begun_;
  }

  const std::size_t max_line_bytes_;
  std::string begun_;
};

}  // namespace berth::http
