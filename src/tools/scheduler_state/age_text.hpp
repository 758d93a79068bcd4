// Ages for terminals.
#pragma once

#include <cstdint>
#include <string>

namespace berth::scheduler_state {

// "45s", "12m", "3h", "5d": the age of a time, in the largest unit with a number of at least two; "0s" for
// times in the future.
std::string AgeText(std::int64_t seconds);

}  // namespace berth::scheduler_state
