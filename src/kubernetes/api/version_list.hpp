// Names and versions out of a list; private to this module. See wire/wire.hpp for lists in protobuf.
#pragma once

#include <string_view>

#include "kubernetes/api/decode.hpp"
#include "kubernetes/api/json_reader.hpp"

namespace berth::api {

Expected<VersionList> VersionsFromJson(const simdjson::dom::element& root);

}  // namespace berth::api
