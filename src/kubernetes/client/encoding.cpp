#include "kubernetes/client/encoding.hpp"

#include <optional>

namespace berth::client {
namespace {

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Ignores parameters (";q=0.9").
std::optional<Encoding> EncodingOf(std::string_view media_type) {
  const std::string_view type = Trimmed(media_type.substr(0, media_type.find(';')));
  if (type == kProtobufType) return Encoding::kProtobuf;
  if (type == "application/json" || type == "*/*" || type == "application/*") return Encoding::kJson;
  return std::nullopt;
}

}  // namespace

Encoding PreferredEncoding(std::string_view content_type, std::string_view accept_content_types) {
  if (Trimmed(accept_content_types).empty()) return EncodingOf(content_type).value_or(Encoding::kJson);
  while (!accept_content_types.empty()) {
    const auto comma = accept_content_types.find(',');
    if (const auto encoding = EncodingOf(accept_content_types.substr(0, comma))) return *encoding;
    accept_content_types.remove_prefix(comma == accept_content_types.npos ? accept_content_types.size()
                                                                          : comma + 1);
  }
  return Encoding::kJson;
}

std::string AcceptOf(Encoding encoding) {
  if (encoding == Encoding::kProtobuf) return std::string(kProtobufType) + ",application/json";
  return "application/json, */*";
}

}  // namespace berth::client
