// The arithmetic of the choice, over all rows at once. Compiled for speed; private to this module.
#pragma once

#include <cstdint>
#include <span>

namespace berth::core {

// Normalised scores as the record keeps them; rows that are not feasible may hold anything. `out` is as long
// as `scores`.
void Narrow(std::span<const std::int64_t> scores, std::span<std::uint8_t> out);

// totals[i] += weight * scores[i].
void AddWeighted(std::span<const std::uint8_t> scores, std::uint32_t weight, std::span<std::int64_t> totals);

}  // namespace berth::core
