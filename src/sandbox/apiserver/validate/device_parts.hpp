// Parts that several kinds of resource.k8s.io have. Private to the validation of devices.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "sandbox/apiserver/validate/names.hpp"
#include "sandbox/store/document.hpp"

namespace berth::sandbox {

ErrorCause TooMany(std::string field, std::size_t count, std::size_t most);
ErrorCause TooLong(std::string field, std::size_t most);
ErrorCause Duplicate(std::string field, std::string_view value);
// The value is the whole element.
ErrorCause DuplicateElement(std::string field, const json::object& element);

// The number of elements or members; 0 if absent.
std::size_t SizeOf(const json::object& parent, std::string_view key);
// False, with an error, if the list is longer than allowed; then its elements are not validated.
bool WithinSize(const json::object& parent, std::string_view key, const std::string& path, std::size_t most,
                Causes& causes);
// nullopt: absent.
std::optional<bool> BoolOf(const json::object& object, std::string_view key);

// Calls visit(text, "<path>.<key>[i]") for each element that is a string.
template <class Visit>
void ForEachText(const json::object& parent, std::string_view key, const std::string& path, Visit&& visit) {
  const json::array* texts = FindArray(parent, key);
  for (std::size_t i = 0; texts != nullptr && i < texts->size(); ++i) {
    if (const auto* text = (*texts)[i].if_string())
      visit(std::string_view(*text), fmt::format("{}.{}[{}]", path, key, i));
  }
}

void CheckDriver(const std::string& field, std::string_view name, Causes& causes);
void CheckPool(const std::string& field, std::string_view name, Causes& causes);
// [domain/]identifier; CheckQualifiedProperty requires the domain.
void CheckProperty(const std::string& field, std::string_view name, Causes& causes);
void CheckQualifiedProperty(const std::string& field, std::string_view name, Causes& causes);

bool IsDeviceTaintEffect(std::string_view effect);
inline constexpr std::string_view kDeviceTaintEffects = R"("NoExecute", "NoSchedule", "None")";
void CheckDeviceTaint(const json::object& taint, const std::string& path, Causes& causes);
// bindingConditions and bindingFailureConditions of a device or of an allocated device.
void CheckBindingConditions(const json::object& parent, const std::string& path, Causes& causes);

}  // namespace berth::sandbox
