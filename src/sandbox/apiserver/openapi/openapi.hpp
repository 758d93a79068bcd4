// OpenAPI v3: the part that kubectl needs for validation, client-side apply and explain.
#pragma once

#include <string_view>
#include <vector>

#include "sandbox/store/document.hpp"
#include "sandbox/store/resource.hpp"

namespace berth::sandbox {

// The document of one group version: the paths of its resources, and the schemas of their kinds with all
// nested types. Contains types, list types and merge keys, but no descriptions.
json::object OpenApiDocument(std::string_view group, std::string_view version,
                             const std::vector<const ResourceType*>& types);

}  // namespace berth::sandbox
