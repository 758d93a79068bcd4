// Compressed responses.
#pragma once

#include <memory>

#include "http/server.hpp"

namespace berth::sandbox {

// Wraps an exchange so that large responses are compressed (over 128 KiB, gzip level 1, like kube-apiserver)
// for clients that accept gzip. Streams are not compressed.
std::shared_ptr<http::Exchange> CompressAnswers(std::shared_ptr<http::Exchange> exchange);

}  // namespace berth::sandbox
