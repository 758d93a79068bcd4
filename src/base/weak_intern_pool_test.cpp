#include "base/weak_intern_pool.hpp"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

struct Value {
  int number = 0;
};

TEST(WeakInternPool, SharesAnObjectWhileItIsInUse) {
  WeakInternPool<Value> pool;
  const auto first = pool.Get("a", [] { return Value{1}; });
  EXPECT_EQ(pool.Get("a", [] { return Value{2}; }), first);
  EXPECT_EQ(pool.Get("b", [] { return Value{3}; })->number, 3);
}

TEST(WeakInternPool, KeepsFewEntriesThatAreNoLongerInUse) {
  WeakInternPool<Value> pool;
  std::size_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    pool.Get(std::to_string(i), [] { return Value{}; });
    most = std::max(most, pool.size());
  }
  EXPECT_LE(most, 1100U);
}

TEST(WeakInternPool, KeepsFewBytesOfEntriesThatAreNoLongerInUse) {
  WeakInternPool<Value> pool;
  std::size_t most = 0;
  for (int i = 0; i < 260; ++i) {
    pool.Get(std::to_string(i) + std::string(900'000, 'x'), [] { return Value{}; });
    most = std::max(most, pool.size());
  }
  EXPECT_LE(most, 2U) << "about 1 MiB";
}

TEST(WeakInternPool, SharesOnlyEqualObjectsOfOneHash) {
  WeakInternPool<Value, std::size_t> pool;
  const auto get = [&](std::size_t hash, int number) {
    return pool.Get(
        hash, [&](const Value& value) { return value.number == number; }, [&] { return Value{number}; });
  };
  const auto first = get(7, 1);
  const auto other = get(7, 2);
  EXPECT_EQ(other->number, 2);
  EXPECT_EQ(get(7, 1), first) << "still the object that came first";
  EXPECT_NE(get(7, 2), other) << "the second object of a hash is not shared";
}

}  // namespace
}  // namespace berth
