// Names with a number, such as "worker-##".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::sandbox {

// "worker-07" for 7: each # stands for a digit. The pattern itself if it has no #.
std::string NumberedName(std::string_view pattern, std::int64_t number);

// Why the pattern cannot name `count` things; empty: it can.
std::string PatternProblem(std::string_view pattern, std::int64_t count);

}  // namespace berth::sandbox
