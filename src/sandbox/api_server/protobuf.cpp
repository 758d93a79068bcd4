#include "sandbox/api_server/protobuf.hpp"

#include <fmt/format.h>

namespace berth::sandbox {

ApiResult<Document> DecodeProtobuf(std::string_view) { return UnsupportedMediaType("protobuf"); }

}  // namespace berth::sandbox
