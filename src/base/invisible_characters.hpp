// Unicode characters that look like a space or like nothing, in YAML texts: they cause errors whose cause
// cannot be seen. Texts are read line by line: quotes, comments and words are those of one line. Quotes and
// block texts of several lines are not recognized: their further lines count as YAML.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"

namespace berth {

// The invisible character that probably causes a syntax error near `line` (from 1) of a YAML text: one that
// is outside of words and quotes, where YAML expects a space or a line break. Texts copied from web pages
// have such characters. Prefers the line itself, then lines before it, then lines after it. "line 3, column
// 5: U+00A0 (no-break space): expected a space"; columns are counted in characters, from 1, without a byte
// order mark. nullopt: there is none.
std::optional<std::string> FindInvisibleCharacter(std::string_view text, std::size_t line);

// The same for a text without syntax errors, in which such a character belongs to a key or a value. Prefers
// the first one outside of words and quotes, then the first one within them; those in comments have no
// effect.
std::optional<std::string> FindInvisibleCharacter(std::string_view text);

// An error in the content of such a text, for instance an unknown field, followed by "; the YAML text has an
// invisible character: " and its description, if there is one. Syntax errors name theirs already. The error
// may be one of another file that the text names.
Error WithInvisibleCharacter(Error error, std::string_view text);
template <class T>
Expected<T> WithInvisibleCharacter(Expected<T> read, std::string_view text) {
  if (!read) read = std::unexpected(WithInvisibleCharacter(std::move(read).error(), text));
  return read;
}

}  // namespace berth
