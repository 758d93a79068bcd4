// Cuts a stream of bytes into lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace berth::http {

// Lines end with \n, which is not part of them; empty lines are dropped. A line that lies within one chunk is
// not copied.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t max_line_bytes) : max_line_bytes_(max_line_bytes) {}

  // Calls take(line) for every line that `chunk` completes, until it returns false. False: a line is longer
  // than allowed, or the taker has had enough; the splitter is not to be used any more.
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

  // What follows the last \n. A stream that was cut leaves half a line here, one without a last \n a whole
  // one.
  std::string_view Rest() const { return begun_; }

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
