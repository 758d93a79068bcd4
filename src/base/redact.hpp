// Removes secrets from texts that are shown: logs, events, metrics, pages, errors.
#pragma once

#include <string>
#include <string_view>

namespace berth {

// The password of a URL ("http://user:password@host/path") is replaced by "xxxxx", as Go's URL.Redacted does.
// Every other text, also one that is not a valid URL, is returned unchanged.
std::string RedactUrl(std::string_view url);

}  // namespace berth
