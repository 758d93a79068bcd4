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
    {"\u0085", "U+0085", "next line", kLineBreak},
    {"\u00a0", "U+00A0", "no-break space", kSpace},
    {"\u00ad", "U+00AD", "soft hyphen", kNothing},
    {"\u034f", "U+034F", "combining grapheme joiner", kNothing},
    {"\u061c", "U+061C", "Arabic letter mark", kNothing},
    {"\u115f", "U+115F", "Hangul choseong filler", kSpace},
    {"\u1680", "U+1680", "ogham space mark", kSpace},
    {"\u180e", "U+180E", "Mongolian vowel separator", kNothing},
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
    {"\u202a", "U+202A", "left-to-right embedding", kNothing},
    {"\u202b", "U+202B", "right-to-left embedding", kNothing},
    {"\u202c", "U+202C", "pop directional formatting", kNothing},
    {"\u202d", "U+202D", "left-to-right override", kNothing},
    {"\u202e", "U+202E", "right-to-left override", kNothing},
    {"\u202f", "U+202F", "narrow no-break space", kSpace},
    {"\u205f", "U+205F", "medium mathematical space", kSpace},
    {"\u2060", "U+2060", "word joiner", kNothing},
    {"\u2061", "U+2061", "function application", kNothing},
    {"\u2062", "U+2062", "invisible times", kNothing},
    {"\u2063", "U+2063", "invisible separator", kNothing},
    {"\u2064", "U+2064", "invisible plus", kNothing},
    {"\u2066", "U+2066", "left-to-right isolate", kNothing},
    {"\u2067", "U+2067", "right-to-left isolate", kNothing},
    {"\u2068", "U+2068", "first strong isolate", kNothing},
    {"\u2069", "U+2069", "pop directional isolate", kNothing},
    {"\u3000", "U+3000", "ideographic space", kSpace},
    {"\u3164", "U+3164", "Hangul filler", kSpace},
    {"\ufeff", "U+FEFF", "zero width no-break space", kNothing},
};

const Invisible* Find(std::string_view character) {
  const auto found = std::ranges::find(kInvisible, character, &Invisible::text);
  return found == std::end(kInvisible) ? nullptr : found;
}

// Whether the first character is one of the table.
bool BeginsInvisible(std::string_view text) {
  const std::size_t size = Utf8CharacterSize(text);
  return size > 1 && Find(text.substr(0, size)) != nullptr;
}

// Whether `c` is an indicator of YAML between the character `before` and `rest`. Invisible characters in
// `rest` count as the space that they look like. After a key in quotes, ':' needs no space.
bool IsIndicator(char c, char before, std::string_view rest) {
  if (std::string_view(",[]{}").contains(c)) return true;
  if (!std::string_view("-:?").contains(c)) return false;
  return rest.empty() || rest.front() == ' ' || rest.front() == '\t' || BeginsInvisible(rest) ||
         (c == ':' && (before == '"' || before == '\''));
}

// Whether `c` escapes the quote or the backslash after it, in a text within this kind of quotes.
bool EscapesNext(char c, char quote, std::string_view rest) {
  if (quote == '"') return c == '\\' && (rest.starts_with('"') || rest.starts_with('\\'));
  return quote == '\'' && c == '\'' && rest.starts_with('\'');
}

// The first ones of a line, outside of comments.
struct FoundInLine {
  // In the indentation, after an indicator of YAML, or before the ':' or the '#' that follows a word.
  std::optional<std::string> structural;
  std::optional<std::string> in_text;  // within words or quotes; only if none of the others follows
};

FoundInLine FindInLine(std::string_view line, std::size_t number) {
  FoundInLine found;
  bool structural = true;  // the characters before it are spaces or end with an indicator
  char quote = 0;
  char before = ' ';
  std::size_t column = 0;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t size = std::max<std::size_t>(1, Utf8CharacterSize(line.substr(i)));
    const std::string_view character = line.substr(i, size);
    // A byte order mark at the beginning of the text is no error, and no part of the line.
    const bool byte_order_mark = number == 1 && i == 0 && character == "\ufeff";
    i += size;
    if (byte_order_mark) continue;
    ++column;
    const std::string_view rest = line.substr(i);
    if (const Invisible* invisible = Find(character)) {
      const bool outside = quote == 0 && (structural || rest.empty() || rest.starts_with(':') ||
                                          rest.starts_with('#') || invisible->expected == kLineBreak);
      std::optional<std::string>& place = outside ? found.structural : found.in_text;
      if (!place)
        place = fmt::format("line {}, column {}: {} ({}): {}", number, column, invisible->code,
                            invisible->name, invisible->expected);
      if (outside) return found;
    }
    if (size > 1) {
      structural = false;
      before = 'a';
      continue;
    }
    const char c = character.front();
    if (EscapesNext(c, quote, rest)) {
      ++i;
      ++column;
      continue;
    }
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if ((c == '"' || c == '\'') && structural) {
      quote = c;
    } else if (c == '#' && (before == ' ' || before == '\t')) {
      return found;  // a comment
    }
    const bool space = c == ' ' || c == '\t';
    structural = quote == 0 && ((space && structural) || IsIndicator(c, before, rest));
    before = c;
  }
  return found;
}

// Calls visit(number, found) for each line until it returns false.
template <class Visit>
void ForEachLine(std::string_view text, Visit&& visit) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::string_view content = line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
    if (!visit(number, FindInLine(content, number))) return;
  }
}

}  // namespace

std::optional<std::string> FindInvisibleCharacter(std::string_view text, std::size_t line) {
  std::optional<std::string> before, after;
  ForEachLine(text, [&](std::size_t number, FoundInLine found) {
    if (number > line && before) return false;
    if (found.structural) (number <= line ? before : after) = std::move(found.structural);
    return !after;
  });
  return before ? before : after;
}

std::optional<std::string> FindInvisibleCharacter(std::string_view text) {
  if (IsAscii(text)) return std::nullopt;
  std::optional<std::string> structural, in_text;
  ForEachLine(text, [&](std::size_t /*number*/, FoundInLine found) {
    structural = std::move(found.structural);
    if (!in_text) in_text = std::move(found.in_text);
    return !structural;
  });
  return structural ? structural : in_text;
}

Error WithInvisibleCharacter(Error error, std::string_view text) {
  if (const auto found = FindInvisibleCharacter(text))
    error.message += "; the YAML text has an invisible character: " + *found;
  return error;
}

}  // namespace berth
