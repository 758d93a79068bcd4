// Random changes before a cluster is loaded: objects are added, changed and removed.
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/assembly/engine.hpp"

namespace berth {

// Applies a random sequence of changes to an engine, with the objects of a dump in other versions and on
// other nodes, and evaluates pods in between. So everything that follows the cluster's changes has processed
// some. At the end only objects remain that loading the dump replaces. The same seed gives the same changes.
void LiveThrough(assembly::Engine& engine, const std::string& dump, std::uint64_t seed);

}  // namespace berth
