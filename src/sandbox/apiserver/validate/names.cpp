#include "sandbox/apiserver/validate/names.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::sandbox {
namespace {

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsWordCharacter(char c) { return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z'); }

constexpr std::string_view kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabelRule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kLabelValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr std::string_view kQualifiedNameRule =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

constexpr std::string_view kConfigKeyRule =
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
    "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

bool IsQualifiedWord(std::string_view word) {
  if (word.empty() || word.size() > 63 || !IsWordCharacter(word.front()) || !IsWordCharacter(word.back()))
    return false;
  return std::ranges::all_of(word,
                             [](char c) { return IsWordCharacter(c) || c == '-' || c == '_' || c == '.'; });
}

}  // namespace

bool IsQualifiedName(std::string_view name) {
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return IsQualifiedWord(name);
  return IsDnsSubdomain(name.substr(0, slash)) && IsQualifiedWord(name.substr(slash + 1));
}

bool IsLabelValue(std::string_view value) { return value.empty() || IsQualifiedWord(value); }

bool IsDnsLabel(std::string_view name) {
  if (name.empty() || name.size() > 63 || !IsLowerOrDigit(name.front()) || !IsLowerOrDigit(name.back()))
    return false;
  return std::ranges::all_of(name, [](char c) { return IsLowerOrDigit(c) || c == '-'; });
}

bool IsDnsSubdomain(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  for (;;) {
    const auto dot = name.find('.');
    const auto part = name.substr(0, dot);
    if (part.empty() || !IsLowerOrDigit(part.front()) || !IsLowerOrDigit(part.back())) return false;
    if (!std::ranges::all_of(part, [](char c) { return IsLowerOrDigit(c) || c == '-'; })) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

void CheckSubdomain(const std::string& field, std::string_view name, Causes& causes, std::string_view shown) {
  const auto wrong = [&](std::string_view why) {
    causes.push_back(InvalidValue(field, GoQuote(shown.empty() ? name : shown), why));
  };
  if (name.size() > 253)
    wrong("must be no more than 253 characters");
  else if (!IsDnsSubdomain(name))
    wrong(kSubdomainRule);
}

void CheckLabel(const std::string& field, std::string_view name, Causes& causes) {
  if (name.size() > 63)
    causes.push_back(InvalidValue(field, GoQuote(name), "must be no more than 63 characters"));
  else if (!IsDnsLabel(name))
    causes.push_back(InvalidValue(field, GoQuote(name), kLabelRule));
}

void CheckQualifiedName(const std::string& field, std::string_view name, Causes& causes) {
  if (!IsQualifiedName(name)) causes.push_back(InvalidValue(field, GoQuote(name), kQualifiedNameRule));
}

void CheckLabelValue(const std::string& field, std::string_view value, Causes& causes) {
  if (value.size() > 63)
    causes.push_back(InvalidValue(field, GoQuote(value), "must be no more than 63 bytes"));
  else if (!IsLabelValue(value))
    causes.push_back(InvalidValue(field, GoQuote(value), kLabelValueRule));
}

void CheckLabels(const std::string& field, const json::object* labels, Causes& causes) {
  if (labels == nullptr) return;
  for (const auto& entry : *labels) {
    CheckQualifiedName(field, entry.key(), causes);
    if (const auto* value = entry.value().if_string()) CheckLabelValue(field, *value, causes);
  }
}

void CheckConfigKeys(std::string_view field, const json::object* data, Causes& causes) {
  if (data == nullptr) return;
  for (const auto& entry : *data) {
    const std::string_view key = entry.key();
    const bool good = !key.empty() && key.size() <= 253 && key != "." && !key.starts_with("..") &&
                      std::ranges::all_of(
                          key, [](char c) { return IsWordCharacter(c) || c == '-' || c == '_' || c == '.'; });
    if (!good)
      causes.push_back(InvalidValue(fmt::format("{}[{}]", field, key), GoQuote(key), kConfigKeyRule));
  }
}

}  // namespace berth::sandbox
