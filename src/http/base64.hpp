// Base64 as RFC 4648 has it, with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::http {

std::string EncodeBase64(std::string_view bytes);

// As strict as Go's: line breaks are passed over, anything else that does not belong there makes it nothing.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace berth::http
