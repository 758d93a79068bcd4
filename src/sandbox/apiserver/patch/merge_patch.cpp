#include <map>

#include "sandbox/apiserver/patch/patch.hpp"

namespace berth::sandbox {

std::optional<PatchType> PatchTypeOf(std::string_view content_type) {
  if (content_type == "application/merge-patch+json") return PatchType::kMerge;
  if (content_type == "application/json-patch+json") return PatchType::kJson;
  if (content_type == "application/strategic-merge-patch+json") return PatchType::kStrategic;
  if (content_type == "application/apply-patch+yaml") return PatchType::kApply;
  return std::nullopt;
}

std::string GoText(const json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_null()) return "<nil>";
  std::string text;
  if (value.is_array()) {
    for (const auto& element : value.get_array()) text += (text.empty() ? "" : " ") + GoText(element);
    return "[" + text + "]";
  }
  if (!value.is_object()) return json::serialize(value);
  std::map<std::string, const json::value*> sorted;
  for (const auto& entry : value.get_object()) sorted.emplace(entry.key(), &entry.value());
  for (const auto& [key, member] : sorted) text += (text.empty() ? "" : " ") + key + ":" + GoText(*member);
  return "map[" + text + "]";
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
