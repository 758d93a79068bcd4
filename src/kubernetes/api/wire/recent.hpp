// Reads fields through a cache of recently decoded values; private to this folder.
#pragma once

#include <cstddef>
#include <string_view>

#include "kubernetes/api/recent_values.hpp"
#include "kubernetes/api/wire/message.hpp"

namespace berth::api::wire {

// The consecutive fields with one number, from the position `at` on.
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

// Reads all fields of a run with read(at, out), through the cache: pods of a workload arrive one after the
// other with identical bytes for labels, tolerations and constraints. The cache is per thread.
template <class T, class Reader>
void TakeAlike(Message& at, T& out, Reader&& read) {
  thread_local RecentValues<T> recent;
  const bool begins = out.identity() == nullptr;  // otherwise `out` has values from earlier fields
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
  if (begins) recent.Store(out);
}

// A field that is read by TakeAlike.
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
