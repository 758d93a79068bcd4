#include "sandbox/store/condition.hpp"

namespace berth::sandbox {

const json::object* FindCondition(const json::object& status, std::string_view type) {
  const json::array* conditions = FindArray(status, "conditions");
  if (conditions == nullptr) return nullptr;
  for (const auto& condition : *conditions) {
    if (condition.is_object() && FindString(condition.get_object(), "type") == type)
      return &condition.get_object();
  }
  return nullptr;
}

bool IsConditionTrue(const json::object& status, std::string_view type) {
  const json::object* condition = FindCondition(status, type);
  return condition != nullptr && FindString(*condition, "status") == "True";
}

}  // namespace berth::sandbox
