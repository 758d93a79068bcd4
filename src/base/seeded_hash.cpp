#include "base/seeded_hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <random>

namespace berth {
namespace {

std::uint64_t ProcessSeed() {
  static const std::uint64_t seed = [] {
    std::random_device random;  // getrandom(2)
    return std::uint64_t{random()} << 32 | random();
  }();
  return seed;
}

}  // namespace

std::uint64_t HashWithSeed(std::uint64_t seed, std::string_view bytes) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::size_t SeededHash::operator()(std::string_view text) const { return HashWithSeed(ProcessSeed(), text); }

std::size_t SeededHash::operator()(std::string_view first, std::string_view second) const {
  return HashWithSeed(HashWithSeed(ProcessSeed(), first), second);
}

}  // namespace berth
