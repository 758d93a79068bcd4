// Unicode characters that look like a space or like nothing, in texts that a syntax error makes unreadable.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

// The invisible character that probably causes a syntax error near `line` (from 1) of a YAML text: one that
// is outside of words and quotes, where YAML expects a space or a line break. Texts copied from web pages
// have such characters. Prefers the line itself, then lines before it, then lines after it. "line 3, column
// 5: U+00A0 (no-break space): expected a space"; columns are counted in characters, from 1. nullopt: there is
// none.
std::optional<std::string> FindInvisibleCharacter(std::string_view text, std::size_t line);

}  // namespace berth
