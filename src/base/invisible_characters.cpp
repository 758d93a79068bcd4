#include "base/invisible_characters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/utf8.hpp"

namespace berth {
namespace {

struct Invisible {
  std::string_view text;
  std::string_view code;
  std::string_view name;
  std::string_view expected;
};

constexpr std::string_view kSpace = "expected a space";
constexpr std::string_view kLineBreak = "expected a line break";
constexpr std::string_view kNothing = "remove this invisible character";

constexpr Invisible kInvisible[] = {
    {"\u00a0", "U+00A0", "no-break space", kSpace},
    {"\u00ad", "U+00AD", "soft hyphen", kNothing},
    {"\u1680", "U+1680", "ogham space mark", kSpace},
    {"\u2000", "U+2000", "en quad", kSpace},
    {"\u2001", "U+2001", "em quad", kSpace},
    {"\u2002", "U+2002", "en space", kSpace},
    {"\u2003", "U+2003", "em space", kSpace},
    {"\u2004", "U+2004", "three-per-em space", kSpace},
    {"\u2005", "U+2005", "four-per-em space", kSpace},
    {"\u2006", "U+2006", "six-per-em space", kSpace},
    {"\u2007", "U+2007", "figure space", kSpace},
    {"\u2008", "U+2008", "punctuation space", kSpace},
    {"\u2009", "U+2009", "thin space", kSpace},
    {"\u200a", "U+200A", "hair space", kSpace},
    {"\u200b", "U+200B", "zero width space", kNothing},
    {"\u200c", "U+200C", "zero width non-joiner", kNothing},
    {"\u200d", "U+200D", "zero width joiner", kNothing},
    {"\u200e", "U+200E", "left-to-right mark", kNothing},
    {"\u200f", "U+200F", "right-to-left mark", kNothing},
    {"\u2028", "U+2028", "line separator", kLineBreak},
    {"\u2029", "U+2029", "paragraph separator", kLineBreak},
    {"\u202f", "U+202F", "narrow no-break space", kSpace},
    {"\u205f", "U+205F", "medium mathematical space", kSpace},
    {"\u2060", "U+2060", "word joiner", kNothing},
    {"\u3000", "U+3000", "ideographic space", kSpace},
    {"\ufeff", "U+FEFF", "zero width no-break space", kNothing},
};

const Invisible* Find(std::string_view character) {
  const auto found = std::ranges::find(kInvisible, character, &Invisible::text);
  return found == std::end(kInvisible) ? nullptr : found;
}

// In the indentation, after an indicator of YAML, or before the ':' or the '#' that follows a word.
std::optional<std::string> FindInLine(std::string_view line, std::size_t number) {
  bool structural = true;  // the characters before it are spaces or end with an indicator
  char quote = 0;
  char before = ' ';
  std::size_t column = 0;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t size = std::max<std::size_t>(1, Utf8CharacterSize(line.substr(i)));
    const std::string_view character = line.substr(i, size);
    ++column;
    i += size;
    // A byte order mark at the beginning of the text is no error.
    const bool byte_order_mark = number == 1 && column == 1 && character == "\ufeff";
    const Invisible* invisible = byte_order_mark ? nullptr : Find(character);
    if (invisible != nullptr && quote == 0) {
      const std::string_view rest = line.substr(i);
      if (structural || rest.empty() || rest.starts_with(':') || rest.starts_with('#') ||
          invisible->expected == kLineBreak) {
        return fmt::format("line {}, column {}: {} ({}): {}", number, column, invisible->code,
                           invisible->name, invisible->expected);
      }
    }
    if (size > 1) {
      structural &= byte_order_mark;
      before = 'a';
      continue;
    }
    const char c = character.front();
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if ((c == '"' || c == '\'') && structural) {
      quote = c;
    } else if (c == '#' && (before == ' ' || before == '\t')) {
      return std::nullopt;  // a comment
    }
    const bool space = c == ' ' || c == '\t';
    structural = quote == 0 && ((space && structural) || std::string_view("-:,[]{}?").contains(c));
    before = c;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> FindInvisibleCharacter(std::string_view text, std::size_t line) {
  std::optional<std::string> before, after;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view current = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(current.size() + 1, text.size()));
    if (number > line && (before || after)) break;
    const std::string_view content =
        current.ends_with('\r') ? current.substr(0, current.size() - 1) : current;
    auto found = FindInLine(content, number);
    if (!found) continue;
    if (number == line) return found;
    (number < line ? before : after) = std::move(found);
  }
  return before ? before : after;
}

}  // namespace berth
