#include "sandbox/api_server/patch/patch.hpp"

namespace berth::sandbox {

std::optional<PatchType> PatchTypeOf(std::string_view content_type) {
  if (content_type == "application/merge-patch+json") return PatchType::kMerge;
  if (content_type == "application/json-patch+json") return PatchType::kJson;
  if (content_type == "application/strategic-merge-patch+json") return PatchType::kStrategic;
  if (content_type == "application/apply-patch+yaml") return PatchType::kApply;
  return std::nullopt;
}

void ApplyMergePatch(json::object& target, const json::object& patch) {
  for (const auto& entry : patch) {
    if (entry.value().is_null()) {
      target.erase(entry.key());
    } else if (entry.value().is_object()) {
      ApplyMergePatch(ObjectAt(target, entry.key()), entry.value().get_object());
    } else {
      target[entry.key()] = entry.value();
    }
  }
}

}  // namespace berth::sandbox
