// Names and versions out of a list, from JSON or from Kubernetes' protobuf; private to this module.
#pragma once

#include <string_view>

#include "api/decode.hpp"
#include "api/json_reader.hpp"

namespace berth::api {

Expected<VersionList> VersionsFromJson(const simdjson::dom::element& root);

// "k8s" and a zero byte begin every protobuf answer of an API server.
bool IsProtobuf(std::string_view text);
Expected<VersionList> VersionsFromProtobuf(std::string_view text);

}  // namespace berth::api
