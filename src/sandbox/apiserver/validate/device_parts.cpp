#include "sandbox/apiserver/validate/device_parts.hpp"

#include <algorithm>
#include <set>

#include "sandbox/apiserver/validate/devices.hpp"

namespace berth::sandbox {
namespace {

constexpr std::size_t kDriverMax = 63, kPoolMax = 253, kIdentifierMax = 32, kBindingConditionsMax = 4;

constexpr std::string_view kIdentifierRule =
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    "'[A-Za-z_][A-Za-z0-9_]*')";

bool IsIdentifier(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

void CheckIdentifier(const std::string& field, std::string_view text, Causes& causes) {
  if (text.size() > kIdentifierMax) causes.push_back(TooLong(field, kIdentifierMax));
  if (!IsIdentifier(text)) causes.push_back(InvalidValue(field, GoQuote(text), kIdentifierRule));
}

}  // namespace

ErrorCause TooMany(std::string field, std::size_t count, std::size_t most) {
  return {"FieldValueTooMany", fmt::format("Too many: {}: must have at most {} items", count, most),
          std::move(field)};
}
ErrorCause TooLong(std::string field, std::size_t most) {
  return {"FieldValueTooLong", fmt::format("Too long: may not be more than {} bytes", most),
          std::move(field)};
}
ErrorCause Duplicate(std::string field, std::string_view value) {
  return {"FieldValueDuplicate", fmt::format("Duplicate value: {}", GoQuote(value)), std::move(field)};
}

ErrorCause DuplicateElement(std::string field, const json::object& element) {
  return {"FieldValueDuplicate", fmt::format("Duplicate value: {}", json::serialize(element)),
          std::move(field)};
}

std::size_t SizeOf(const json::object& parent, std::string_view key) {
  const json::value* value = Find(parent, key);
  if (value == nullptr) return 0;
  if (value->is_array()) return value->get_array().size();
  return value->is_object() ? value->get_object().size() : 0;
}

bool WithinSize(const json::object& parent, std::string_view key, const std::string& path, std::size_t most,
                Causes& causes) {
  const std::size_t size = SizeOf(parent, key);
  if (size <= most) return true;
  causes.push_back(TooMany(fmt::format("{}.{}", path, key), size, most));
  return false;
}

std::optional<bool> BoolOf(const json::object& object, std::string_view key) {
  const json::value* value = Find(object, key);
  return value != nullptr && value->is_bool() ? std::optional(value->get_bool()) : std::nullopt;
}

// --- names ---

void CheckDriver(const std::string& field, std::string_view name, Causes& causes) {
  if (name.empty()) return causes.push_back(Required(field));
  if (name.size() > kDriverMax) causes.push_back(TooLong(field, kDriverMax));
  CheckSubdomain(field, LowerCase(name), causes, name);
}

void CheckPool(const std::string& field, std::string_view name, Causes& causes) {
  if (name.empty()) return causes.push_back(Required(field));
  if (name.size() > kPoolMax) causes.push_back(TooLong(field, kPoolMax));
  for (;;) {
    const auto slash = name.find('/');
    CheckSubdomain(field, name.substr(0, slash), causes);
    if (slash == std::string_view::npos) return;
    name.remove_prefix(slash + 1);
  }
}

void CheckProperty(const std::string& field, std::string_view name, Causes& causes) {
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return CheckIdentifier(field, name, causes);
  if (slash == 0)
    causes.push_back(InvalidValue(field, "\"\"", "the domain must not be empty"));
  else
    CheckDriver(field, name.substr(0, slash), causes);
  if (slash + 1 == name.size())
    causes.push_back(InvalidValue(field, "\"\"", "the name must not be empty"));
  else
    CheckIdentifier(field, name.substr(slash + 1), causes);
}

void CheckQualifiedProperty(const std::string& field, std::string_view name, Causes& causes) {
  CheckProperty(field, name, causes);
  if (name.find('/') == std::string_view::npos)
    causes.push_back(InvalidValue(field, GoQuote(name),
                                  "a fully qualified name must be a domain and a name separated by a slash"));
}

bool IsDriverName(std::string_view name) {
  return name.size() <= kDriverMax && IsDnsSubdomain(LowerCase(name));
}

bool IsDeviceProperty(std::string_view name) {
  Causes causes;
  CheckProperty("", name, causes);
  return causes.empty();
}

bool IsSemanticVersion(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto word = [&](char c) {
    return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  };
  // No leading zeros.
  const auto number = [&](std::string_view part) {
    return !part.empty() && std::ranges::all_of(part, digit) && (part.size() == 1 || part[0] != '0');
  };
  // Identifiers separated by dots; numeric ones without leading zeros if `numeric`.
  const auto identifiers = [&](std::string_view list, bool numeric) {
    for (;;) {
      const auto dot = list.find('.');
      const auto part = list.substr(0, dot);
      if (part.empty() || !std::ranges::all_of(part, word)) return false;
      if (numeric && std::ranges::all_of(part, digit) && !number(part)) return false;
      if (dot == std::string_view::npos) return true;
      list.remove_prefix(dot + 1);
    }
  };
  const auto plus = text.find('+');
  if (plus != std::string_view::npos && !identifiers(text.substr(plus + 1), false)) return false;
  text = text.substr(0, plus);
  const auto dash = text.find('-');
  if (dash != std::string_view::npos && !identifiers(text.substr(dash + 1), true)) return false;
  text = text.substr(0, dash);
  const auto first = text.find('.');
  const auto second = first == std::string_view::npos ? first : text.find('.', first + 1);
  return second != std::string_view::npos && number(text.substr(0, first)) &&
         number(text.substr(first + 1, second - first - 1)) && number(text.substr(second + 1));
}

// --- taints and conditions ---

bool IsDeviceTaintEffect(std::string_view effect) {
  return effect == "NoSchedule" || effect == "NoExecute" || effect == "None";
}

void CheckDeviceTaint(const json::object& taint, const std::string& path, Causes& causes) {
  CheckQualifiedName(path + ".key", FindString(taint, "key"), causes);
  CheckLabelValue(path + ".value", FindString(taint, "value"), causes);
  const auto effect = FindString(taint, "effect");
  if (effect.empty())
    causes.push_back(Required(path + ".effect"));
  else if (!IsDeviceTaintEffect(effect))
    causes.push_back(NotSupported(path + ".effect", effect, kDeviceTaintEffects));
}

void CheckBindingConditions(const json::object& parent, const std::string& path, Causes& causes) {
  std::set<std::string> required;
  const auto check = [&](std::string_view list, std::set<std::string>& names) {
    if (!WithinSize(parent, list, path, kBindingConditionsMax, causes)) return;
    ForEachText(parent, list, path, [&](std::string_view name, const std::string& field) {
      CheckQualifiedName(field, name, causes);
      if (!names.emplace(name).second) causes.push_back(Duplicate(field, name));
      if (&names != &required && required.contains(std::string(name)))
        causes.push_back(InvalidValue(field, GoQuote(name),
                                      "bindingFailureConditions must not overlap with bindingConditions"));
    });
  };
  std::set<std::string> failures;
  check("bindingConditions", required);
  check("bindingFailureConditions", failures);
  if (required.empty() == failures.empty()) return;
  causes.push_back(required.empty()
                       ? InvalidValue(path + ".bindingConditions", "null",
                                      "bindingConditions are required to use bindingFailureConditions")
                       : InvalidValue(path + ".bindingFailureConditions", "null",
                                      "bindingFailureConditions are required to use bindingConditions"));
}

}  // namespace berth::sandbox
