// Where the scheduler of a simulation is recorded.
#pragma once

#include <cstdint>
#include <filesystem>

namespace berth::simulation {

// A recording for `berth replay` (scheduler/recording/recorder.hpp).
struct RecordingOptions {
  // Is created, and must not contain a recording; empty: nothing is recorded.
  std::filesystem::path directory{};
  std::uint64_t limit_bytes = 1u << 30;  // compressed; the oldest files are removed
};

}  // namespace berth::simulation
