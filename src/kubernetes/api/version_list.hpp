// Reads names and versions from a JSON list; private to this module. wire/wire.hpp reads protobuf lists.
#pragma once

#include <string_view>

#include "kubernetes/api/decode.hpp"
#include "kubernetes/api/json_reader.hpp"

namespace berth::api {

Expected<VersionList> VersionsFromJson(const simdjson::dom::element& root);

}  // namespace berth::api
