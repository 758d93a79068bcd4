// CPU profiles in the format of `go tool pprof`.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/symbols.hpp"

namespace berth::service {

// profile.proto of google/pprof, not compressed: samples/count and cpu/nanoseconds per stack, with the names
// of the functions. Each stack is a list of addresses, innermost first.
std::string WriteProfile(std::span<const std::vector<std::uint64_t>> stacks, std::chrono::nanoseconds period,
                         WallTime began, Duration took, const Symbols& symbols,
                         const std::vector<Mapping>& mappings);

}  // namespace berth::service
