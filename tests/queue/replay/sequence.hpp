// A recorded sequence: one line of JSON (sequence.go defines its content).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "environment.hpp"

namespace berth::replay {

struct Step {
  Operation operation;
  State set;                      // new or changed entries
  std::vector<std::string> gone;  // removed entries
};

struct Sequence {
  std::uint64_t seed = 0;
  std::int64_t start_millis = 0;
  queue::QueueOptions options;
  std::vector<FakePlugin> plugins;
  std::vector<Step> steps;
};

// Throws std::runtime_error for invalid lines.
Sequence ParseSequence(std::string_view line);

}  // namespace berth::replay
