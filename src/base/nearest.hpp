// Suggestions for misspelled names ("did you mean ...?").
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace berth {

// The candidate with the smallest edit distance to `text` (case ignored), if it is close enough to be a
// likely misspelling; else empty.
std::string Nearest(std::string_view text, std::span<const std::string> candidates);

}  // namespace berth
