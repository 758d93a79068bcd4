// A past for a cluster: what was there before came, changed and went.
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/assembly/engine.hpp"

namespace berth {

// Takes an engine through a random sequence of changes with the objects of a dump in other versions and on
// other nodes, judging pods in between, so that everything that follows the cluster's changes has followed
// some. What is left at the end is only what loading the dump replaces. The same seed gives the same past.
void LiveThrough(assembly::Engine& engine, const std::string& dump, std::uint64_t seed);

}  // namespace berth
