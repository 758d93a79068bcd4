// Which parts of a variable an expression reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::cel {

// The constant keys of one access: {"a", "b", "c"} for `x.a["b"].?c`.
using Path = std::vector<std::string>;

// The accesses to the variable in the order of the text, each once and as long as its keys are constant.
// Variables of cel.bind are followed; those of other comprehensions are not. Empty if the expression has
// syntax errors.
std::vector<Path> ReadPaths(std::string_view expression, std::string_view variable);

}  // namespace berth::cel
