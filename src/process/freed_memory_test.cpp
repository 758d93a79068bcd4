#include "process/freed_memory.hpp"

#include <gtest/gtest.h>
#include <jemalloc/jemalloc.h>

#include <cstddef>
#include <memory>

#pragma weak mallctl

namespace berth::process {
namespace {

template <class T>
T Get(const char* name) {
  T value{};
  std::size_t size = sizeof(value);
  EXPECT_EQ(::mallctl(name, &value, &size, nullptr, 0), 0) << name;
  return value;
}

TEST(FreedMemory, AThreadOfTheAllocatorReturnsIt) {
#ifdef BERTH_DEBUG_CHECKS
  GTEST_SKIP() << "sanitizers have their own allocators";
#else
  ASSERT_NE(&::mallctl, nullptr) << "the program is not linked with jemalloc";
  const auto before = Get<std::uint64_t>("thread.allocated");
  const auto block = std::make_unique<char[]>(4096);
  EXPECT_GE(Get<std::uint64_t>("thread.allocated"), before + 4096) << "memory comes from another allocator";

  ReturnFreedMemory();
  EXPECT_TRUE(Get<bool>("background_thread"));
  EXPECT_EQ(Get<std::size_t>("max_background_threads"), 1U);
#endif
}

}  // namespace
}  // namespace berth::process
