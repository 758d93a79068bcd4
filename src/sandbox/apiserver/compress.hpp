// Compressed answers.
#pragma once

#include <memory>

#include "http/server.hpp"

namespace berth::sandbox {

// An exchange that compresses large answers (over 128 KiB, gzip level 1, as kube-apiserver). Streams stay as
// they are. For clients that accept gzip.
std::shared_ptr<http::Exchange> CompressAnswers(std::shared_ptr<http::Exchange> exchange);

}  // namespace berth::sandbox
