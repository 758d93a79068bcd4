// Conditions in the status of objects.
#pragma once

#include <string_view>

#include "sandbox/store/document.hpp"

namespace berth::sandbox {

// In status.conditions. Null: there is none of this type.
const json::object* FindCondition(const json::object& status, std::string_view type);
bool IsConditionTrue(const json::object& status, std::string_view type);

}  // namespace berth::sandbox
