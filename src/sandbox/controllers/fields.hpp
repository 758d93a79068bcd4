// Small words for reading and writing objects as controllers do.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "sandbox/store/object.hpp"

namespace berth::sandbox {

// The number at a path; the default where there is none.
std::int64_t IntAt(const json::object& object, std::string_view path, std::int64_t otherwise = 0);
bool BoolAt(const json::object& object, std::string_view path, bool otherwise = false);
// The object at a path, or an empty one that lives for ever.
const json::object& ObjectOrEmpty(const json::object& object, std::string_view path);
const json::array& ArrayOrEmpty(const json::object& object, std::string_view path);

// RFC 3339 in UTC, as FormatTime and FormatMicroTime write it.
std::optional<WallTime> TimeOf(std::string_view text);

// An IntOrString as a number of `total`: "25%" is rounded up or down.
std::int64_t ScaledValue(const json::value* value, std::int64_t total, bool round_up,
                         std::int64_t otherwise = 0);

// A condition of the usual form (type, status, reason, message, times).
struct Condition {
  std::string_view type;
  std::string_view status;
  std::string_view reason = {};
  std::string_view message = {};
};
const json::object* FindCondition(const json::object& status, std::string_view type);
bool IsConditionTrue(const json::object& status, std::string_view type);
// Replaces or appends; lastTransitionTime changes only with the status. False if nothing differs.
bool SetCondition(json::object& status, const Condition& condition, const std::string& now,
                  bool with_update_time = false);
void RemoveCondition(json::object& status, std::string_view type);

// Removes elements for which `gone` is true.
template <class Gone>
void EraseIf(json::array& array, Gone&& gone) {
  for (auto it = array.begin(); it != array.end();) it = gone(*it) ? array.erase(it) : it + 1;
}

// {"apiVersion", "kind", "name", "uid", "controller": true, "blockOwnerDeletion": true}
json::object ControllerRef(const Object& owner);
// The reference of the managing controller; null if there is none.
const json::object* ControllerOf(const json::object& document);

// The alphabet of generated names: no vowels, so no words.
std::string SafeEncode(std::string_view text);
// FNV-1a, 32 bits: what pod-template-hash and controller-revision-hash are made with.
std::uint32_t Fnv32(std::string_view text);
// Ten decimal digits at most, in the safe alphabet. Equal templates have equal hashes whatever the order of
// their members; the value differs from kube-controller-manager's, which hashes Go's print of the struct.
std::string TemplateHash(const json::value& pod_template, std::int64_t collision_count = -1);

}  // namespace berth::sandbox
