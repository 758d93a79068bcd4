// Helpers to read and write objects in controllers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "sandbox/store/condition.hpp"
#include "sandbox/store/object.hpp"
#include "sandbox/store/time_of.hpp"

namespace berth::sandbox {

// The number at a path, or the default if there is none.
std::int64_t IntAt(const json::object& object, std::string_view path, std::int64_t otherwise = 0);
bool BoolAt(const json::object& object, std::string_view path, bool otherwise = false);
// The object at a path, or a static empty one.
const json::object& ObjectOrEmpty(const json::object& object, std::string_view path);
const json::array& ArrayOrEmpty(const json::object& object, std::string_view path);

// Resolves an IntOrString against `total`: "25%" is rounded up or down.
std::int64_t ScaledValue(const json::value* value, std::int64_t total, bool round_up,
                         std::int64_t otherwise = 0);

// A condition of the usual form (type, status, reason, message, times).
struct Condition {
  std::string_view type;
  std::string_view status;
  std::string_view reason = {};
  std::string_view message = {};
};
// Replaces or appends the condition; lastTransitionTime changes only with the status. False if nothing
// differs.
bool SetCondition(json::object& status, const Condition& condition, const std::string& now,
                  bool with_update_time = false);
void RemoveCondition(json::object& status, std::string_view type);

// Removes elements for which `gone` is true.
template <class Gone>
void EraseIf(json::array& array, Gone&& gone) {
  for (auto it = array.begin(); it != array.end();) it = gone(*it) ? array.erase(it) : it + 1;
}

// True if metadata.finalizers contains it.
bool HasFinalizer(const Object& object, std::string_view finalizer);

// {"apiVersion", "kind", "name", "uid", "controller": true, "blockOwnerDeletion": true}
json::object ControllerRef(const Object& owner);
// The reference of the managing controller; null if there is none.
const json::object* ControllerOf(const json::object& document);

// Encodes with the alphabet of generated names, which has no vowels so that no words appear.
std::string SafeEncode(std::string_view text);
// FNV-1a, 32 bits: the hash of pod-template-hash and controller-revision-hash.
std::uint32_t Fnv32(std::string_view text);
// At most ten decimal digits, in the safe alphabet. Equal templates have equal hashes regardless of the order
// of their members. The value differs from kube-controller-manager's, which hashes Go's printed form of the
// struct.
std::string TemplateHash(const json::value& pod_template, std::int64_t collision_count = -1);

}  // namespace berth::sandbox
