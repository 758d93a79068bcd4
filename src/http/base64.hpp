// Base64 of RFC 4648, with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::http {

std::string EncodeBase64(std::string_view bytes);

// As strict as Go's: line breaks are ignored; nullopt for any other invalid character.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace berth::http
