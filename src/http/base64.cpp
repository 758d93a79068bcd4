#include "http/base64.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <iterator>

namespace berth::http {

std::string EncodeBase64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  std::string packed;
  packed.reserve(text.size());
  std::ranges::copy_if(text, std::back_inserter(packed), [](char c) { return c != '\n' && c != '\r'; });
  if (packed.empty()) return "";
  const auto padding = static_cast<std::size_t>(packed.ends_with("==") ? 2 : packed.ends_with('=') ? 1 : 0);
  // EVP_DecodeBlock accepts white space and misplaced padding; Go does not.
  const auto legal = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
  };
  if (packed.size() % 4 != 0 ||
      !std::all_of(packed.begin(), packed.end() - static_cast<long>(padding), legal)) {
    return std::nullopt;
  }
  std::string out(packed.size() / 4 * 3, '\0');
  const int length =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(packed.data()), static_cast<int>(packed.size()));
  if (length < 0) return std::nullopt;
  out.resize(static_cast<std::size_t>(length) - padding);
  return out;
}

}  // namespace berth::http
