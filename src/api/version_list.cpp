#include "api/version_list.hpp"

#include <fmt/format.h>

#include <cstdint>

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
  // A list without items may say null.
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

namespace {

constexpr std::string_view kMagic{"k8s\0", 4};

// The fields of one message, one after the other: visit(number, bytes) for those of variable length, others
// are passed over. False if it does not end where it should.
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  template <class Visit>
  bool ForEach(Visit&& visit) {
    while (!rest_.empty()) {
      std::uint64_t tag = 0, size = 0;
      if (!ReadNumber(tag)) return false;
      switch (tag & 7) {
        case 0:
          if (!ReadNumber(size)) return false;
          continue;
        case 1:
          size = 8;
          break;
        case 5:
          size = 4;
          break;
        case 2:
          if (!ReadNumber(size)) return false;
          break;
        default:
          return false;
      }
      if (size > rest_.size()) return false;
      if ((tag & 7) == 2 && !visit(tag >> 3, rest_.substr(0, size))) return false;
      rest_.remove_prefix(size);
    }
    return true;
  }

 private:
  bool ReadNumber(std::uint64_t& out) {
    out = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      out |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  std::string_view rest_;
};

// ObjectMeta: name 1, namespace 3, resourceVersion 6. Every object has it as its field 1.
bool ReadItem(std::string_view bytes, VersionList::Item& item) {
  return Message(bytes).ForEach([&](std::uint64_t field, std::string_view object) {
    if (field != 1) return true;
    return Message(object).ForEach([&](std::uint64_t inner, std::string_view text) {
      if (inner == 1) item.name = text;
      if (inner == 3) item.ns = text;
      if (inner == 6) item.resource_version = text;
      return true;
    });
  });
}

// ListMeta is field 1 of every list: resourceVersion 2, continue 3. Items are field 2.
bool ReadList(std::string_view bytes, VersionList& list) {
  return Message(bytes).ForEach([&](std::uint64_t field, std::string_view member) {
    if (field == 2) return ReadItem(member, list.items.emplace_back());
    if (field != 1) return true;
    return Message(member).ForEach([&](std::uint64_t inner, std::string_view text) {
      if (inner == 2) list.resource_version = text;
      if (inner == 3) list.continue_token = text;
      return true;
    });
  });
}

}  // namespace

bool IsProtobuf(std::string_view text) { return text.starts_with(kMagic); }

// The list is the field `raw` (2) of an envelope.
Expected<VersionList> VersionsFromProtobuf(std::string_view text) {
  VersionList list;
  const bool read =
      Message(text.substr(kMagic.size())).ForEach([&](std::uint64_t field, std::string_view raw) {
        return field != 2 || ReadList(raw, list);
      });
  if (!read) return Invalid("not a valid protobuf list");
  if (list.resource_version.empty()) return Invalid("metadata.resourceVersion: missing");
  for (const VersionList::Item& item : list.items) {
    if (item.name.empty() || item.resource_version.empty())
      return Invalid("an item of the list lacks its name or its resourceVersion");
  }
  return list;
}

}  // namespace berth::api
