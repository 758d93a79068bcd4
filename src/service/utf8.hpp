// Bytes of clients as text that may be put into documents, as Go's encoding/json does.
#pragma once

#include <string>
#include <string_view>

namespace berth::service {

// Every byte that belongs to no character becomes U+FFFD.
std::string ValidUtf8(std::string_view bytes);

// A JSON string, quotes included: invalid bytes as above, and <, >, & and the line separators of JavaScript
// escaped.
void AppendGoJsonString(std::string& out, std::string_view bytes);

// As fmt's %q prints it.
std::string GoQuoted(std::string_view bytes);

}  // namespace berth::service
