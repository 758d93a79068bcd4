// Loops over columns, compiled for several processor generations and selected at run time. All versions give
// identical results, bit for bit: none of the operations rounds differently on wider vectors.
//
// A kernel is a struct with `template <VectorLevel> BERTH_KERNEL R Run(...)`, written as plain loops of a
// fixed length that the compiler vectorizes. Its file must be listed in berth_kernels()
// (cmake/toolchain.cmake). Functions that it calls must be BERTH_KERNEL too, so that they are inlined into
// each version: a function shared between files must never contain instructions of one level only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace berth {

enum class VectorLevel : std::uint8_t {
  kBaseline,  // the baseline of the architecture
  kAvx2,      // x86-64-v3: 256 bits
  kAvx512,    // x86-64-v4: 512 bits
};

// The best level that this machine supports; determined once.
VectorLevel BestVectorLevel();

#define BERTH_KERNEL [[gnu::always_inline]] static inline

namespace vectorized {

#if defined(__x86_64__)
template <class Kernel, class... Args>
[[gnu::target("arch=x86-64-v4"), gnu::noinline]] auto Avx512(Args... args) {
  return Kernel::template Run<VectorLevel::kAvx512>(args...);
}
template <class Kernel, class... Args>
[[gnu::target("arch=x86-64-v3"), gnu::noinline]] auto Avx2(Args... args) {
  return Kernel::template Run<VectorLevel::kAvx2>(args...);
}
#endif
template <class Kernel, class... Args>
[[gnu::noinline]] auto Baseline(Args... args) {
  return Kernel::template Run<VectorLevel::kBaseline>(args...);
}

}  // namespace vectorized

// Runs Kernel::Run(args...) as compiled for `level`, which the machine must support.
template <class Kernel, class... Args>
auto RunVectorized(VectorLevel level, Args... args) {
#if defined(__x86_64__)
  if (level == VectorLevel::kAvx512) return vectorized::Avx512<Kernel>(args...);
  if (level == VectorLevel::kAvx2) return vectorized::Avx2<Kernel>(args...);
#else
  static_cast<void>(level);
#endif
  return vectorized::Baseline<Kernel>(args...);
}

// Kernels process columns in blocks: the rows of one word of a RowSet.
inline constexpr std::size_t kBlockRows = 64;

constexpr std::size_t BlocksOf(std::size_t rows) { return (rows + kBlockRows - 1) / kBlockRows; }

// A block of a column for reading. Rows beyond the end of the column are read as 0 from `padding`.
template <class T>
[[gnu::always_inline]] inline const T* BlockOf(const T* column, std::size_t rows, std::size_t block,
                                               T* padding) {
  const std::size_t begin = block * kBlockRows;
  if (begin + kBlockRows <= rows) return column + begin;
  const std::size_t count = rows - begin;
  __builtin_memcpy(padding, column + begin, count * sizeof(T));
  std::fill_n(padding + count, kBlockRows - count, T{0});
  return padding;
}

// Writes a block back, up to the end of the column.
template <class T>
[[gnu::always_inline]] inline void StoreBlock(const T* block_values, std::size_t rows, std::size_t block,
                                              T* column) {
  const std::size_t begin = block * kBlockRows;
  if (begin + kBlockRows <= rows) {
    __builtin_memcpy(column + begin, block_values, kBlockRows * sizeof(T));
  } else {
    __builtin_memcpy(column + begin, block_values, (rows - begin) * sizeof(T));
  }
}

// Converts an integer with 0 <= value < 2^52 to double: its bits become the low bits of a number between 2^52
// and 2^53, whose ulp is 1. Processors before AVX-512 have no instruction for it. The result for other values
// is unspecified.
[[gnu::always_inline]] inline double SmallToDouble(std::int64_t value) {
  return std::bit_cast<double>(value | 0x4330'0000'0000'0000) - 0x1p52;
}
template <VectorLevel kLevel>
[[gnu::always_inline]] inline double SmallToDouble(std::int64_t value) {
  return kLevel == VectorLevel::kAvx512 ? static_cast<double>(value) : SmallToDouble(value);
}
inline constexpr int kSmallBits = 52;

// 64 bytes that are 0xff where the word's bit is set and 0 elsewhere.
[[gnu::always_inline]] inline void SpreadBits(std::uint64_t word, void* bytes) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t spread[8];
#pragma GCC unroll 1  // else it is unrolled before it can become one vector
  for (std::uint64_t i = 0; i < 8; ++i) {
    std::uint64_t eight = (word >> (8 * i)) & 0xff;
    eight |= eight << 8;
    eight |= eight << 16;
    eight |= eight << 32;            // eight copies
    eight &= 0x8040'2010'0804'0201;  // select a different bit in each
    eight += 0x7f7f'7f7f'7f7f'7f7f;  // into the top bit
    eight = (eight >> 7) & 0x0101'0101'0101'0101;
    spread[i] = (eight << 8) - eight;  // times 255
  }
  __builtin_memcpy(bytes, spread, sizeof spread);
}

}  // namespace berth
