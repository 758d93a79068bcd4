#pragma once

#include <string>
#include <string_view>

namespace berth::service {

// Compresses the text with gzip.
std::string Gzip(std::string_view text);

// Whether an Accept-Encoding header prefers gzip to uncompressed text.
bool PrefersGzip(std::string_view accept_encoding);

}  // namespace berth::service
