#include "base/shared_pool.hpp"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

struct Value {
  int number = 0;
};

TEST(SharedPool, SharesAnObjectWhileItIsInUse) {
  SharedPool<Value> pool;
  const auto first = pool.Get("a", [] { return Value{1}; });
  EXPECT_EQ(pool.Get("a", [] { return Value{2}; }), first);
  EXPECT_EQ(pool.Get("b", [] { return Value{3}; })->number, 3);
}

TEST(SharedPool, KeepsFewEntriesThatAreNoLongerInUse) {
  SharedPool<Value> pool;
  std::size_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    pool.Get(std::to_string(i), [] { return Value{}; });
    most = std::max(most, pool.size());
  }
  EXPECT_LE(most, 1100U);
}

TEST(SharedPool, KeepsFewBytesOfEntriesThatAreNoLongerInUse) {
  SharedPool<Value> pool;
  std::size_t most = 0;
  for (int i = 0; i < 260; ++i) {
    pool.Get(std::to_string(i) + std::string(900'000, 'x'), [] { return Value{}; });
    most = std::max(most, pool.size());
  }
  EXPECT_LE(most, 2U) << "about 1 MiB";
}

}  // namespace
}  // namespace berth
