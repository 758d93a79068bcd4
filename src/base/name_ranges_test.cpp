#include "base/name_ranges.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(NameRanges, CombinesConsecutiveNumbers) {
  struct Case {
    const char* what;
    std::vector<std::string> names;
    std::size_t most;
    const char* want;
  };
  const Case cases[] = {
      {"no name is no text", {}, 8, ""},
      {"one name stays as it is", {"gpu-007"}, 8, "gpu-007"},
      {"consecutive numbers are a range", {"gpu-001", "gpu-002", "gpu-003"}, 8, "gpu-[001-003]"},
      {"a gap begins another range", {"n1", "n2", "n4"}, 8, "n[1-2,4]"},
      {"numbers of one stem are sorted as numbers", {"n10", "n8", "n9"}, 8, "n[8-10]"},
      {"zeros must match", {"n010", "n9"}, 8, "n[9,010]"},
      {"names without a number stay apart", {"edge", "gpu-1", "gpu-2", "web"}, 8, "edge, gpu-[1-2], web"},
      {"a number longer than 18 digits is no number that is counted",
       {"a12345678901234567890"},
       8,
       "a12345678901234567890"},
      {"stems beyond the limit are counted", {"a", "b", "c"}, 2, "a, b and 1 more"},
      {"ranges beyond the limit are counted", {"n1", "n3", "n5", "n7"}, 2, "n[1,3] and 2 more"},
  };
  for (const Case& c : cases) EXPECT_EQ(NameRanges(c.names, c.most), c.want) << c.what;
}

}  // namespace
}  // namespace berth
