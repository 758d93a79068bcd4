#pragma once

#include <string>
#include <string_view>

namespace berth::service {

// The text as gzip.
std::string Gzip(std::string_view text);

// Whether an Accept-Encoding header would rather have gzip than the text itself.
bool PrefersGzip(std::string_view accept_encoding);

}  // namespace berth::service
