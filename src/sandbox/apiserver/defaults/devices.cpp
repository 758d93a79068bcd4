// The defaults of resource.k8s.io, and what the API server changes in updates of its objects.
#include <algorithm>
#include <tuple>

#include "sandbox/apiserver/defaults/members.hpp"

namespace berth::sandbox {
namespace {

void DefaultDeviceRequest(json::object& request) {
  SetText(request, "allocationMode", "ExactCount");
  if (FindString(request, "allocationMode") == "ExactCount") {
    const json::value* count = Find(request, "count");
    if (count == nullptr || (count->is_int64() && count->get_int64() == 0)) request["count"] = 1;
  }
  ForEachObject(request, "tolerations",
                [](json::object& toleration) { SetText(toleration, "operator", "Equal"); });
}

// The spec of a claim.
void DefaultDeviceClaim(json::object& spec) {
  json::object* devices = Below(spec, "devices");
  if (devices == nullptr) return;
  ForEachObject(*devices, "requests", [](json::object& request) {
    if (json::object* exactly = Below(request, "exactly")) DefaultDeviceRequest(*exactly);
    ForEachObject(request, "firstAvailable", DefaultDeviceRequest);
  });
}

void DefaultDeviceTaint(json::object& taint, WallTime now) {
  if (FindString(taint, "timeAdded").empty()) taint["timeAdded"] = FormatTime(now);
}

// Driver, pool, device and share: the identity of an allocated device.
using DeviceKey = std::tuple<std::string, std::string, std::string, std::string>;

DeviceKey KeyOfDevice(const json::object& device) {
  return {std::string(FindString(device, "driver")), std::string(FindString(device, "pool")),
          std::string(FindString(device, "device")), std::string(FindString(device, "shareID"))};
}

std::vector<DeviceKey> AllocatedKeys(const json::object& claim) {
  std::vector<DeviceKey> keys;
  const json::array* results = FindArray(claim, "status.allocation.devices.results");
  for (const auto& result : results != nullptr ? *results : json::array()) {
    if (result.is_object()) keys.push_back(KeyOfDevice(result.get_object()));
  }
  return keys;
}

// Removes the status of devices that this write deallocates.
void DropDeallocatedDevices(const json::object& before, json::object& after) {
  if (FindArray(after, "status.devices") == nullptr) return;
  const std::vector<DeviceKey> kept = AllocatedKeys(after);
  std::vector<DeviceKey> gone = AllocatedKeys(before);
  std::erase_if(gone, [&](const DeviceKey& key) { return std::ranges::find(kept, key) != kept.end(); });
  auto& devices = ArrayAt(ObjectAt(after, "status"), "devices");
  for (auto it = devices.begin(); it != devices.end();) {
    const bool stale =
        it->is_object() && std::ranges::find(gone, KeyOfDevice(it->get_object())) != gone.end();
    it = stale ? devices.erase(it) : it + 1;
  }
}

}  // namespace

void DefaultDevices(std::string_view plural, json::object& document, WallTime now) {
  json::object* spec = Below(document, "spec");
  if (spec == nullptr) return;
  if (plural == "resourceclaims") {
    DefaultDeviceClaim(*spec);
  } else if (plural == "resourceclaimtemplates") {
    if (json::object* claim = Below(*spec, "spec")) DefaultDeviceClaim(*claim);
  } else if (plural == "devicetaintrules") {
    if (json::object* taint = Below(*spec, "taint")) DefaultDeviceTaint(*taint, now);
  } else if (plural == "resourceslices") {
    ForEachObject(*spec, "devices", [&](json::object& device) {
      ForEachObject(device, "taints", [&](json::object& taint) { DefaultDeviceTaint(taint, now); });
    });
  }
}

void PrepareUpdate(const ResourceType& type, Part part, const json::object& before, json::object& after,
                   WallTime now) {
  if (type.group != "resource.k8s.io") return;
  if (type.plural == "resourceclaims" && part == Part::kStatus) DropDeallocatedDevices(before, after);
  if (type.plural == "devicetaintrules" && part == Part::kMain) {
    // The time of the present effect, not of the rule.
    const bool same_effect =
        FindString(before, "spec.taint.effect") == FindString(after, "spec.taint.effect");
    const bool same_time =
        FindString(before, "spec.taint.timeAdded") == FindString(after, "spec.taint.timeAdded");
    if (!same_effect && same_time) ObjectAt(ObjectAt(after, "spec"), "taint")["timeAdded"] = FormatTime(now);
  }
}

}  // namespace berth::sandbox
