#include "base/keyed_hash.hpp"

#include <bit>
#include <cstring>
#include <random>

namespace berth {
namespace {

struct State {
  std::uint64_t v0, v1, v2, v3;

  void Round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void Absorb(std::uint64_t word) {
    v3 ^= word;
    Round();
    v0 ^= word;
  }
};

template <class Word>
std::uint64_t Load(const char* bytes) {
  static_assert(std::endian::native == std::endian::little);
  Word word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// The bytes after the last whole word, at most seven, without a loop.
std::uint64_t Rest(std::string_view bytes) {
  const std::size_t size = bytes.size(), rest = size % 8;
  const char* const data = bytes.data();
  if (rest == 0) return 0;
  if (size > 8) return Load<std::uint64_t>(data + size - 8) >> (64 - 8 * rest);
  if (size >= 4) return Load<std::uint32_t>(data) | Load<std::uint32_t>(data + size - 4) << (8 * (size - 4));
  const auto at = [&](std::size_t index) {
    return std::uint64_t{static_cast<unsigned char>(data[index])} << (8 * index);
  };
  return at(0) | at(size / 2) | at(size - 1);
}

State Begin(const HashKey& key) {
  return {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
          key[1] ^ 0x7465646279746573};
}

// The last word contains the size, so texts that follow each other are told apart.
void AbsorbAll(State& state, std::string_view bytes) {
  const std::size_t whole = bytes.size() / 8 * 8;
  for (std::size_t at = 0; at < whole; at += 8) state.Absorb(Load<std::uint64_t>(bytes.data() + at));
  state.Absorb(std::uint64_t{bytes.size()} << 56 | Rest(bytes));
}

std::uint64_t End(State state) {
  state.v2 ^= 0xff;
  for (int i = 0; i < 3; ++i) state.Round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

const HashKey& ProcessKey() {
  static const HashKey key = [] {
    std::random_device random;  // getrandom(2)
    const auto word = [&] { return std::uint64_t{random()} << 32 | random(); };
    return HashKey{word(), word()};
  }();
  return key;
}

}  // namespace

std::uint64_t SipHash(const HashKey& key, std::string_view bytes) {
  State state = Begin(key);
  AbsorbAll(state, bytes);
  return End(state);
}

std::size_t KeyedHash::operator()(std::string_view text) const { return SipHash(ProcessKey(), text); }

std::size_t KeyedHash::operator()(std::string_view first, std::string_view second) const {
  State state = Begin(ProcessKey());
  AbsorbAll(state, first);
  AbsorbAll(state, second);
  return End(state);
}

}  // namespace berth
