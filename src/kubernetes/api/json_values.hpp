// JSON in the values of annotations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kubernetes/api/resource_list.hpp"

namespace berth::api {

// {"cpu": "40", "memory": 1024}; nullopt: the text is no JSON object of quantities.
std::optional<ResourceList> ResourceListFromJson(const std::string& text);
// ["a", "b"]; nullopt: the text is no JSON list of strings.
std::optional<std::vector<std::string>> StringsFromJson(const std::string& text);

}  // namespace berth::api
