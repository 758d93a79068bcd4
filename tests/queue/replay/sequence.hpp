// A recorded sequence: one line of JSON (sequence.go says what is in it).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "world.hpp"

namespace berth::replay {

struct Step {
  Operation operation;
  State set;                      // what became visible or changed
  std::vector<std::string> gone;  // what is not visible any more
};

struct Sequence {
  std::uint64_t seed = 0;
  std::int64_t start_millis = 0;
  queue::QueueOptions options;
  std::vector<FakePlugin> plugins;
  std::vector<Step> steps;
};

// Throws std::runtime_error for lines that are not sequences.
Sequence ParseSequence(std::string_view line);

}  // namespace berth::replay
