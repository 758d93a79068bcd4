// Fields that occur twice in a JSON document.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::sandbox {

// The paths of the first hundred, such as "spec.containers[0].name", each once. The text must be valid JSON.
std::vector<std::string> DuplicateFields(std::string_view text);

}  // namespace berth::sandbox
