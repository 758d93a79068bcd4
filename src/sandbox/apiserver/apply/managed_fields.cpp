#include "sandbox/apiserver/apply/managed_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace berth::sandbox {

std::string FieldManager::Describe() const {
  std::string text = json::serialize(json::value(name));
  if (!subresource.empty()) text += fmt::format(" with subresource \"{}\"", subresource);
  if (!apply) text += fmt::format(" using {}", api_version);
  return text;
}

FieldManagers DecodeManagers(const json::value* managed_fields) {
  FieldManagers managers;
  if (managed_fields == nullptr || !managed_fields->is_array()) return managers;
  for (const auto& value : managed_fields->get_array()) {
    if (!value.is_object()) continue;
    const json::object& entry = value.get_object();
    const json::object* fields = FindObject(entry, "fieldsV1");
    const auto operation = FindString(entry, "operation");
    if (fields == nullptr || (operation != "Apply" && operation != "Update")) continue;
    managers.push_back({.name = std::string(FindString(entry, "manager")),
                        .apply = operation == "Apply",
                        .api_version = std::string(FindString(entry, "apiVersion")),
                        .subresource = std::string(FindString(entry, "subresource")),
                        .time = std::string(FindString(entry, "time")),
                        .fields = FieldSet::FromJson(*fields)});
  }
  return managers;
}

json::array EncodeManagers(FieldManagers managers) {
  std::ranges::sort(managers, {}, [](const FieldManager& manager) {
    return std::tuple(!manager.apply, manager.time, manager.name, manager.api_version, manager.subresource);
  });
  json::array list;
  for (const auto& manager : managers) {
    json::object entry{{"manager", manager.name},
                       {"operation", manager.apply ? "Apply" : "Update"},
                       {"apiVersion", manager.api_version}};
    if (!manager.time.empty()) entry["time"] = manager.time;
    entry["fieldsType"] = "FieldsV1";
    entry["fieldsV1"] = manager.fields.ToJson();
    if (!manager.subresource.empty()) entry["subresource"] = manager.subresource;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace berth::sandbox
