// A hash of texts with a random seed, for tables of texts that clients choose: without the seed, clients
// cannot construct texts that collide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth {

// XXH3 of the bytes with this seed. Not a cryptographic hash: only for tables whose hashes and iteration
// order are not visible to clients.
std::uint64_t HashWithSeed(std::uint64_t seed, std::string_view bytes);

// The hash function with the seed of this process, chosen at random at the first use. Results differ between
// processes and must not influence decisions or output. Thread-safe.
struct SeededHash {
  using is_transparent = void;
  using is_avalanching = void;  // for Boost.Unordered: needs no further mixing
  std::size_t operator()(std::string_view text) const;
  // Of a pair of texts.
  std::size_t operator()(std::string_view first, std::string_view second) const;
};

}  // namespace berth
