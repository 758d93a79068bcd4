// YAML request bodies.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "sandbox/store/document.hpp"

namespace berth::sandbox {

// Parses one YAML (or JSON) document that is a map. Duplicate keys are an error.
Expected<Document> ParseYamlDocument(std::string_view text);

}  // namespace berth::sandbox
