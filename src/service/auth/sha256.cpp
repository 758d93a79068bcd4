#include "service/auth/sha256.hpp"

#include <openssl/sha.h>

namespace berth::service {

std::string Sha256(std::string_view bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  return {reinterpret_cast<char*>(digest), sizeof digest};
}

}  // namespace berth::service
