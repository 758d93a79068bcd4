// Durations as Go prints them, since they stand in messages: "1h30m0s", "10s", "1.5s", "250ms".
#pragma once

#include <string>

#include "base/clock.hpp"

namespace berth {

std::string FormatGoDuration(Duration duration);

}  // namespace berth
