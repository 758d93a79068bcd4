// "Did you mean ...?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace berth {

// The candidate that differs from `text` by the fewest edits (case ignored), if it is near enough to be a
// likely slip; else empty.
std::string Nearest(std::string_view text, std::span<const std::string> candidates);

}  // namespace berth
