#include "core/totals.hpp"

#include <cstddef>

namespace berth::core {

void Narrow(std::span<const std::int64_t> scores, std::span<std::uint8_t> out) {
  const std::int64_t* from = scores.data();
  std::uint8_t* __restrict to = out.data();
  for (std::size_t i = 0; i < scores.size(); ++i) to[i] = static_cast<std::uint8_t>(from[i]);
}

void AddWeighted(std::span<const std::uint8_t> scores, std::uint32_t weight, std::span<std::int64_t> totals) {
  const std::uint8_t* from = scores.data();
  std::int64_t* __restrict to = totals.data();
  const std::uint64_t factor = weight;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    // 32 bits by 32 bits: the multiplication that every machine has for several numbers at once.
    to[i] += static_cast<std::int64_t>(factor * std::uint64_t{std::uint32_t{from[i]}});
  }
}

}  // namespace berth::core
