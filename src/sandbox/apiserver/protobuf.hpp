// Kubernetes' protobuf bodies: kubectl's typed commands and components with default settings send them, and
// none falls back to JSON when refused.
#pragma once

#include <string_view>

#include "sandbox/apiserver/status.hpp"
#include "sandbox/store/document.hpp"

namespace berth::sandbox {

// The object in the envelope ("k8s\0", then runtime.Unknown), in the form its JSON would have. 415 for kinds
// whose fields are not known here, 400 for broken bytes. Empty strings and zero numbers mean "unset" in
// proto2 as Go writes it, and are left out.
ApiResult<Document> DecodeProtobuf(std::string_view bytes);

}  // namespace berth::sandbox
