// What happens in a run, in its order: a digest of all lines, and the lines themselves if they are wanted.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/seeded_hash.hpp"
#include "simulation/virtual_time.hpp"

namespace berth::faults {

// Two runs with equal digests had the same lines at the same times. One thread.
class Timeline {
 public:
  Timeline(const simulation::VirtualTime& time, bool keep_lines) : time_(time), keep_lines_(keep_lines) {}

  template <class... T>
  void Add(const std::string& actor, fmt::format_string<T...> text, T&&... values) {
    std::string line =
        fmt::format("{:>11.6f} {:<12} ", std::chrono::duration<double>(time_.now()).count(), actor);
    fmt::format_to(std::back_inserter(line), text, std::forward<T>(values)...);
    digest_ = HashWithSeed(digest_, line);
    if (keep_lines_) lines_.push_back(std::move(line));
  }
  std::uint64_t digest() const { return digest_; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  const simulation::VirtualTime& time_;
  const bool keep_lines_;
  std::uint64_t digest_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace berth::faults
