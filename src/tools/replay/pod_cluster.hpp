// The cluster at a scheduling attempt, as a file for `berth explain` and `berth what-if --dump`.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/result.hpp"
#include "tools/replay/repetition.hpp"
#include "tools/replay/steps.hpp"

namespace berth::replay {

struct FoundAttempt {
  std::uint64_t line = 0;    // of the step that completed it
  std::uint64_t number = 0;  // of the pod's attempts, from 1
  std::uint64_t count = 0;   // of the pod's attempts in the recording
  std::string result;
  std::string reason;  // the node, or the message, and the nomination; empty: none was recorded
};

// Reads the steps to their end. `number` 0: the last one. Fails if the pod (namespace/name) has no such
// attempt.
Expected<FoundAttempt> FindAttempt(Steps& steps, const std::string& pod, std::uint64_t number);

// Writes a List of JSON with what a decision about the pod depends on: every object, pods that were assumed
// on a node with this node, and of the waiting pods only this one and those that are nominated for a node.
// Returns the number of objects.
Expected<std::size_t> WriteCluster(const Moment& moment, const std::string& pod, std::FILE* out);

}  // namespace berth::replay
