// Converts client input to valid text for documents, as Go's encoding/json does.
#pragma once

#include <string>
#include <string_view>

namespace berth::service {

// Replaces every byte that is not part of a character with U+FFFD.
std::string ValidUtf8(std::string_view bytes);

// Appends a JSON string with quotes: invalid bytes are replaced as above, and <, >, & and JavaScript's line
// separators are escaped.
void AppendGoJsonString(std::string& out, std::string_view bytes);

// Formats as Go's fmt %q.
std::string GoQuoted(std::string_view bytes);

}  // namespace berth::service
