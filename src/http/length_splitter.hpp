// Splits a stream of bytes into length-prefixed frames.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::http {

// A frame is four bytes of length, big-endian, and that many bytes; empty frames are dropped. A frame within
// one chunk is not copied.
class LengthSplitter {
 public:
  static constexpr std::string_view kPiece = "frame";

  explicit LengthSplitter(std::size_t max_frame_bytes) : max_frame_bytes_(max_frame_bytes) {}

  // Calls take(frame) for every frame that `chunk` completes, until it returns false. Returns false if a
  // frame is longer than allowed or `take` returned false; the splitter must not be used any more.
  template <class Take>
  [[nodiscard]] bool Feed(std::string_view chunk, Take&& take) {
    while (!chunk.empty()) {
      if (!begun_.empty() || !Whole(chunk)) Borrow(chunk);
      const std::string_view bytes = begun_.empty() ? chunk : std::string_view(begun_);
      if (bytes.size() < kLengthBytes) return true;
      const std::size_t size = SizeOf(bytes);
      if (size > max_frame_bytes_) return false;
      if (bytes.size() < kLengthBytes + size) return true;
      if (size > 0 && !take(bytes.substr(kLengthBytes, size))) return false;
      if (begun_.empty()) {
        chunk.remove_prefix(kLengthBytes + size);
      } else {
        begun_.clear();
      }
    }
    return true;
  }

  // The stream has ended. False: it ended within a frame.
  template <class Take>
  bool End(Take&&) const {
    return begun_.empty();
  }

 private:
  static constexpr std::size_t kLengthBytes = 4;

  static std::size_t SizeOf(std::string_view bytes) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < kLengthBytes; ++i) size = size << 8 | static_cast<unsigned char>(bytes[i]);
    return size;
  }
  static bool Whole(std::string_view bytes) {
    return bytes.size() >= kLengthBytes && bytes.size() - kLengthBytes >= SizeOf(bytes);
  }
  // Moves the missing bytes of the current frame from the chunk to it, its length first.
  void Borrow(std::string_view& chunk) {
    const auto move = [&](std::size_t until) {
      const std::size_t bytes = std::min(until - std::min(until, begun_.size()), chunk.size());
      begun_.append(chunk, 0, bytes);
      chunk.remove_prefix(bytes);
    };
    move(kLengthBytes);
    if (begun_.size() < kLengthBytes) return;
    const std::size_t size = SizeOf(begun_);
    if (size <= max_frame_bytes_) move(kLengthBytes + size);
  }

  const std::size_t max_frame_bytes_;
  std::string begun_;
};

}  // namespace berth::http
