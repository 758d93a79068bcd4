// A hash of texts with a key per process, for tables of texts that clients choose: without the key nobody can find texts
// that collide.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth {

using HashKey = std::array<std::uint64_t, 2>;

// SipHash-1-3 of the bytes (Aumasson and Bernstein, "SipHash: a fast short-input PRF").
std::uint64_t SipHash(const HashKey& key, std::string_view bytes);

// A hash function with the key of this process, chosen at random when it starts. Different processes get different
// results: they must not influence decisions or output.
struct KeyedHash {
  using is_transparent = void;
  using is_avalanching = void;  // for Boost.Unordered: needs no further mixing
  std::size_t operator()(std::string_view text) const;
  // Of a pair of texts.
  std::size_t operator()(std::string_view first, std::string_view second) const;
};

}  // namespace berth
