// Text layout for terminals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace berth {

// Appends words separated by single spaces to a text whose last line is `indent` columns wide. Further lines
// have up to `width` columns and are indented by `indent`. Words are never split. The last line has no
// newline.
void AppendWrapped(std::string& text, std::string_view words, std::size_t indent, std::size_t width);

// "12,345"
std::string WithCommas(std::size_t number);

}  // namespace berth
