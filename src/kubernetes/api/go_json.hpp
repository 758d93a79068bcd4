// JSON as Go's encoding/json writes it.
#pragma once

#include <string>
#include <string_view>

namespace berth::api {

// Appends `text` as a JSON string with quotes. Like Go, also escapes <, > and &, and the line separators
// U+2028 and U+2029. `text` must be valid UTF-8.
void AppendGoString(std::string& out, std::string_view text);

}  // namespace berth::api
