// An object as the source of a table's cells. Private to table*.cpp.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kubernetes/api/timestamp.hpp"
#include "sandbox/apiserver/table.hpp"
#include "sandbox/apiserver/table_cells.hpp"
#include "sandbox/store/time_after.hpp"
#include "sandbox/store/time_of.hpp"

namespace berth::sandbox {

struct Row {
  // Go's zero time in Unix seconds: 0001-01-01T00:00:00Z.
  static constexpr std::int64_t kZeroTime = -62'135'596'800;

  const json::object& object;
  WallTime now;

  std::string_view Text(std::string_view path) const { return FindString(object, path); }
  std::string Or(std::string_view path, std::string_view otherwise) const {
    const auto text = Text(path);
    return std::string(text.empty() ? otherwise : text);
  }
  std::int64_t Number(std::string_view path) const {
    const json::value* value = FindPath(object, path);
    return value != nullptr && value->is_int64() ? value->get_int64() : 0;
  }
  std::string Since(std::string_view time) const {
    if (time.empty() || api::ParseTimestamp(time) == kZeroTime) return "<unknown>";
    return AgeAt(now, NearestTimeOf(time));
  }
  static std::string AgeAt(std::optional<WallTime> now, std::optional<WallTime> start) {
    return now && start ? HumanAge(TimeBetween(*start, *now)) : "<invalid>";
  }
  // A time beyond the range of WallTime is the nearest in it, whose age has the same text in this century.
  static std::optional<WallTime> NearestTimeOf(std::string_view text) {
    const auto seconds = api::ParseTimestamp(text);
    if (!seconds) return std::nullopt;
    return TimeOf(text).value_or(*seconds < 0 ? WallTime::min() : WallTime::max());
  }
  std::string Age() const { return Since(Text("metadata.creationTimestamp")); }
  std::size_t Size(std::string_view path) const {
    const json::value* value = FindPath(object, path);
    if (value == nullptr) return 0;
    return value->is_object()  ? value->get_object().size()
           : value->is_array() ? value->get_array().size()
                               : 0;
  }
  template <class Visit>
  void Each(std::string_view path, Visit&& visit) const {
    const json::array* array = FindArray(object, path);
    if (array == nullptr) return;
    for (const auto& element : *array) {
      if (element.is_object()) visit(element.get_object());
    }
  }
  std::string Joined(std::string_view path, std::string_view member) const {
    std::vector<std::string_view> all;
    Each(path, [&](const json::object& element) { all.push_back(FindString(element, member)); });
    return fmt::format("{}", fmt::join(all, ","));
  }
  std::string LabelsAt(std::string_view path) const {
    const json::object* labels = FindObject(object, path);
    if (labels == nullptr || labels->empty()) return "<none>";
    std::vector<std::string> all;
    for (const auto& entry : *labels) {
      all.push_back(
          fmt::format("{}={}", std::string_view(entry.key()),
                      entry.value().is_string() ? std::string_view(entry.value().get_string()) : ""));
    }
    return fmt::format("{}", fmt::join(all, ","));
  }
};

// The less common kinds.
json::array RareCells(std::string_view plural, const Row& row);

}  // namespace berth::sandbox
