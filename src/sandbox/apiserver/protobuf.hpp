// Kubernetes' protobuf bodies. kubectl's typed commands and components with default settings send them, and
// none falls back to JSON after an error.
#pragma once

#include <string_view>

#include "sandbox/apiserver/status.hpp"
#include "sandbox/store/document.hpp"

namespace berth::sandbox {

// Decodes the object in the envelope ("k8s\0", then runtime.Unknown) to its JSON form. 415 for kinds without
// known fields, 400 for malformed bytes. Empty strings and zero numbers are omitted: Go's proto2 encoding
// writes them for unset fields.
ApiResult<Document> DecodeProtobuf(std::string_view bytes);

}  // namespace berth::sandbox
