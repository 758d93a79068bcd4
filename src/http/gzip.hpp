// gzip, the content coding of responses.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth::http {

// Compresses with zlib's fastest level. `text` must be smaller than 4 GiB.
std::string Gzip(std::string_view text);

// Decompresses one gzip member to at most `limit` bytes. Errors: kInvalid if there is more, kUnavailable if
// the data are invalid or truncated.
Expected<std::string> Gunzip(std::string_view gzip, std::size_t limit);

// Whether an Accept-Encoding header prefers gzip to uncompressed text.
bool PrefersGzip(std::string_view accept_encoding);

}  // namespace berth::http
