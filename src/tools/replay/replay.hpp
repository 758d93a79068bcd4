// `berth replay`: repeats a recording of --berth-recording-dir and checks that the decisions are the same, or
// compares them with those of another configuration.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::replay {

struct ReplayOptions {
  std::string directory;
  std::string config;                // compare with the decisions of this configuration; empty: repeat
  std::vector<std::string> plugins;  // shared objects
  std::string output = "text";       // text or json
};

// Returns the exit code: 0, or 1 if a repeated decision differs. Must be called before the process has other
// threads.
Expected<int> RunReplay(const ReplayOptions& options, const runtime::Registry& built_in);

}  // namespace berth::replay
