// JSON as Go's encoding/json writes it.
#pragma once

#include <string>
#include <string_view>

namespace berth::api {

// The text as a JSON string, quotes included. Besides what must be escaped Go escapes <, > and &, and the
// line separators U+2028 and U+2029. `text` is valid UTF-8.
void AppendGoString(std::string& out, std::string_view text);

}  // namespace berth::api
