// In which encoding objects are asked for.
#pragma once

#include <string>
#include <string_view>

namespace berth::client {

enum class Encoding { kJson, kProtobuf };

// Answers of this type are protobuf; watches of this type are frames.
inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

// What clientConnection of a configuration asks for: the first of acceptContentTypes that Berth reads, or,
// where that is empty, contentType. JSON if it is neither.
Encoding PreferredEncoding(std::string_view content_type, std::string_view accept_content_types);

// An Accept header. A server that has no protobuf of something, or does not know it, may answer in JSON.
std::string AcceptOf(Encoding encoding);

}  // namespace berth::client
