// Quoted text as Go writes it.
#pragma once

#include <string>
#include <string_view>

namespace berth {

// strconv.Quote, fmt's %q: escapes quotes, backslashes, bytes that are not UTF-8 (\xff) and characters that
// are not printable. Unassigned code points are not escaped.
void AppendGoQuoted(std::string& out, std::string_view text);
std::string GoQuote(std::string_view text);

}  // namespace berth
