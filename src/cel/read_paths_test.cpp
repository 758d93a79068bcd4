#include "cel/read_paths.hpp"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace berth::cel {
namespace {

std::string Read(std::string_view expression) {
  std::vector<std::string> paths;
  for (const Path& path : ReadPaths(expression, "x"))
    paths.push_back(fmt::format("{}", fmt::join(path, "/")));
  return fmt::format("{}", fmt::join(paths, " "));
}

TEST(ReadPaths, FindsEveryAccess) {
  struct Row {
    const char* name;
    const char* expression;
    const char* paths;
  };
  for (const Row& row : {
           Row{"a field", "x.a == 1", "a"},
           Row{"keys and fields", R"(x.a["b.c"].d > 1 && x.a["b.c"].e)", "a/b.c/d a/b.c/e"},
           Row{"twice is once", "x.a == 1 || x.a == 2", "a"},
           Row{"optional", R"(x.a["b"].?c.orValue(3) == x[?"d"].orValue(4))", "a/b/c d"},
           Row{"presence", "has(x.a.b) && 'c' in x.a", "a/b a/c"},
           Row{"of a function", "f(x.a) && x.b.matches('y') && !x.c", "a b c"},
           Row{"a key that is not constant", "x.a[y].b", "a"},
           Row{"bind", R"(cel.bind(b, x.a["d"], b.c == 1 && b.e == 2))", "a/d/c a/d/e"},
           Row{"a variable of the same name", "[1].exists(x, x.a == 1)", ""},
           Row{"within a comprehension", "[1].exists(i, x.a == i)", "a"},
           Row{"in lists and maps", "x.a in [x.b, x.c] && {x.d: x.e}.size() > 0", "a b c d e"},
           Row{"another variable", "y.a == 1", ""},
           Row{"an error", "x.a ==", ""},
       }) {
    EXPECT_EQ(Read(row.expression), row.paths) << row.name;
  }
}

}  // namespace
}  // namespace berth::cel
