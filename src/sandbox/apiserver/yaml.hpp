// YAML request bodies.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "sandbox/store/document.hpp"

namespace berth::sandbox {

// One document of YAML (or JSON, which is YAML, too) that is a map. Keys that occur twice are an error.
Expected<Document> ParseYamlDocument(std::string_view text);

}  // namespace berth::sandbox
