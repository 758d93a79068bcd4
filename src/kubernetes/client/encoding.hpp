// The encoding in which objects are requested.
#pragma once

#include <string>
#include <string_view>

namespace berth::client {

enum class Encoding { kJson, kProtobuf };

// Responses with this type are protobuf; watches with this type are length-delimited frames.
inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

// The encoding that clientConnection requests: the first of acceptContentTypes that Berth supports, or
// contentType if that list is empty. JSON if it is neither.
Encoding PreferredEncoding(std::string_view content_type, std::string_view accept_content_types);

// An Accept header. A server without protobuf support for a resource may respond with JSON.
std::string AcceptOf(Encoding encoding);

}  // namespace berth::client
