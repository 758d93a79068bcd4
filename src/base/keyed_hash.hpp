// A hash of texts with a key per process, for tables of texts that clients choose: without the key nobody can
// compute texts that collide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth {

// XXH3 of the bytes with this seed. Not a cryptographic hash: it is for tables whose content and iteration
// order nobody outside sees.
std::uint64_t SeededHash(std::uint64_t seed, std::string_view bytes);

// A hash function with the seed of this process, chosen at random when it starts. Different processes get
// different results: they must not influence decisions or output.
struct KeyedHash {
  using is_transparent = void;
  using is_avalanching = void;  // for Boost.Unordered: needs no further mixing
  std::size_t operator()(std::string_view text) const;
  // Of a pair of texts.
  std::size_t operator()(std::string_view first, std::string_view second) const;
};

}  // namespace berth
