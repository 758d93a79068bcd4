// SHA-256.
#pragma once

#include <string>
#include <string_view>

namespace berth::service {

// The 32 bytes of the digest.
std::string Sha256(std::string_view bytes);

}  // namespace berth::service
