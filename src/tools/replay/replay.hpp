// `berth replay`: repeats a recording of --berth-recording-dir and checks that the decisions are the same, or
// compares them with those of another configuration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::replay {

struct ReplayOptions {
  std::string directory;
  std::string config;                // compare with the decisions of this configuration; empty: repeat
  std::string pod;                   // [namespace/]name: print the cluster at its attempt; empty: do not
  std::uint64_t attempt = 0;         // of the pod, from 1; 0: the last one
  bool print_config = false;         // print the recorded configuration and do nothing else
  std::vector<std::string> plugins;  // shared objects
  std::string output = "text";       // text or json
};

// Returns the exit code: 0, or 1 if a repeated decision differs. Must be called before the process has other
// threads.
Expected<int> RunReplay(const ReplayOptions& options, const runtime::Registry& built_in);

}  // namespace berth::replay
