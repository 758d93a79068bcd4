// What happens in a run, in its order: a digest of all lines; the lines go to a sink.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/append_format.hpp"
#include "base/seeded_hash.hpp"
#include "simulation/virtual_time.hpp"

namespace berth::faults {

// Receives each line, without its end, before the next event of the run.
using LineSink = std::function<void(const std::string& line)>;

// Two runs with equal digests had the same lines at the same times. One thread.
class Timeline {
 public:
  Timeline(const simulation::VirtualTime& time, LineSink sink) : time_(time), sink_(std::move(sink)) {}

  template <class... T>
  void Add(const std::string& actor, fmt::format_string<T...> text, T&&... values) {
    std::string line =
        fmt::format("{:>11.6f} {:<12} ", std::chrono::duration<double>(time_.now()).count(), actor);
    AppendFormat(line, text, std::forward<T>(values)...);
    digest_ = HashWithSeed(digest_, line);
    sink_(line);
  }
  std::uint64_t digest() const { return digest_; }

 private:
  const simulation::VirtualTime& time_;
  const LineSink sink_;
  std::uint64_t digest_ = 0;
};

}  // namespace berth::faults
