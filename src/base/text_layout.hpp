// Text as people read it on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace berth {

// Appends words, separated by a space each, to a text whose last line is `indent` columns wide: in lines of
// up to `width` columns, each of them indented. A word is never broken. No newline follows the last one.
void AppendWrapped(std::string& text, std::string_view words, std::size_t indent, std::size_t width);

// "12,345"
std::string WithCommas(std::size_t number);

}  // namespace berth
