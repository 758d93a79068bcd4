// A cache of recently decoded values; private to this module.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace berth::api {

// Finds values by the bytes from which they were decoded. T is a type whose copies share their value.
template <class T>
class RecentValues {
 public:
  // Null if these bytes are not cached or too long to be cached. `bytes` must exist until Store.
  const T* Find(std::string_view bytes) {
    bytes_ = bytes;
    slot_ = nullptr;
    if (bytes.empty() || bytes.size() > kBytesMax) return nullptr;
    slot_ = &entries_[std::hash<std::string_view>()(bytes) % entries_.size()];
    return slot_->bytes == bytes ? &slot_->value : nullptr;
  }
  // Stores the decoded value; call after Find.
  void Store(const T& value) {
    if (slot_ == nullptr) return;
    slot_->bytes = bytes_;
    slot_->value = value;
  }

 private:
  static constexpr std::size_t kBytesMax = 1024;
  struct Entry {
    std::string bytes;
    T value;
  };

  std::array<Entry, 256> entries_;
  std::string_view bytes_;
  Entry* slot_ = nullptr;
};

}  // namespace berth::api
