// What was read lately, by its bytes; private to this folder.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "kubernetes/api/wire/message.hpp"

namespace berth::api::wire {

// The pods of a workload come one after the other, and their labels, tolerations and constraints are the same
// bytes: these need not be taken apart again. T is a type whose copies share.
template <class T>
class Recent {
 public:
  // Null if these bytes were not read lately, or are too many to be remembered.
  const T* Find(std::string_view bytes) {
    bytes_ = bytes;
    slot_ = nullptr;
    if (bytes.empty() || bytes.size() > kBytesMax) return nullptr;
    slot_ = &known_[std::hash<std::string_view>()(bytes) % known_.size()];
    return slot_->bytes == bytes ? &slot_->value : nullptr;
  }
  // After Find.
  void Remember(const T& value) {
    if (slot_ == nullptr) return;
    slot_->bytes = bytes_;
    slot_->value = value;
  }

 private:
  static constexpr std::size_t kBytesMax = 1024;
  struct Known {
    std::string bytes;
    T value;
  };

  std::array<Known, 256> known_;
  std::string_view bytes_;
  Known* slot_ = nullptr;
};

// The fields of one number that follow each other from where `at` is.
struct Run {
  explicit Run(const Message& at) : behind(at) {
    const auto number = at.tag();
    Message ahead = at;
    do {
      ++length;
      ahead.skip();
      behind = ahead;
    } while (ahead.next() && ahead.tag() == number);
    bytes = {at.data().data(), static_cast<std::size_t>(behind.data().data() - at.data().data())};
  }

  std::size_t length = 0;
  std::string_view bytes{};
  Message behind;
};

// All of a run, one field after the other by read(at, out), for what many objects have alike. The memory is
// that of the thread.
template <class T, class Reader>
void TakeAlike(Message& at, T& out, Reader&& read) {
  thread_local Recent<T> recent;
  const bool begins = out.identity() == nullptr;  // else the run is not all there is
  const Run run(at);
  if (begins) {
    if (const T* known = recent.Find(run.bytes)) {
      out = *known;
      at = run.behind;
      return;
    }
  }
  read(at, out);
  for (std::size_t i = 1; i < run.length; ++i) {
    at.next();
    read(at, out);
  }
  if (begins) recent.Remember(out);
}

// A field whose value is read so.
template <std::uint32_t number, class T>
struct AlikeField {
  static constexpr std::uint32_t kNumber = number;
  std::string_view name;
  T& out;

  void operator()(Message& at) const {
    Within([&](Unreadable& error) { error.In(name); },
           [&] { TakeAlike(at, out, [](Message& field, T& into) { Take(field, into); }); });
  }
};
template <std::uint32_t number, class T>
AlikeField<number, T> Alike(std::string_view name, T& out) {
  return {name, out};
}

}  // namespace berth::api::wire
