#include "kubernetes/api/version_list.hpp"

#include <fmt/format.h>

namespace berth::api {

using simdjson::dom::element;

Expected<VersionList> VersionsFromJson(const element& root) {
  VersionList list;
  element metadata, member;
  simdjson::dom::array items;
  std::string_view value;
  if (root["metadata"].get(metadata) != simdjson::SUCCESS) return Invalid("metadata: missing");
  if (metadata["resourceVersion"].get(value) == simdjson::SUCCESS) list.resource_version = value;
  if (list.resource_version.empty()) return Invalid("metadata.resourceVersion: missing");
  if (metadata["continue"].get(value) == simdjson::SUCCESS) list.continue_token = value;
  // A list without items may contain null.
  if (root["items"].get(member) != simdjson::SUCCESS || member.is_null()) return list;
  if (member.get(items) != simdjson::SUCCESS) return Invalid("items: expected a list");
  list.items.reserve(items.size());
  for (const element& item : items) {
    VersionList::Item& entry = list.items.emplace_back();
    if (item["metadata"].get(metadata) != simdjson::SUCCESS ||
        metadata["name"].get(entry.name) != simdjson::SUCCESS ||
        metadata["resourceVersion"].get(entry.resource_version) != simdjson::SUCCESS) {
      return Invalid(
          fmt::format("items[{}].metadata: expected a name and a resourceVersion", list.items.size() - 1));
    }
    if (metadata["namespace"].get(entry.ns) != simdjson::SUCCESS) entry.ns = {};
  }
  return list;
}

}  // namespace berth::api
