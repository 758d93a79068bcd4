#include "sandbox/kubelet/devices/device_attachments.hpp"

#include <algorithm>
#include <vector>

#include "sandbox/controllers/controller.hpp"
#include "sandbox/controllers/fields.hpp"
#include "sandbox/controllers/kinds.hpp"
#include "sandbox/kubelet/run_plan.hpp"
#include "sandbox/store/time_after.hpp"

namespace berth::sandbox {
namespace {

bool MayWaitForDevices(const Object& claim) {
  return claim.text.find("\"bindingConditions\":[") != std::string::npos;
}

bool SameDevice(const json::object& a, const json::object& b) {
  return std::ranges::all_of(std::initializer_list<std::string_view>{"driver", "pool", "device", "shareID"},
                             [&](std::string_view key) { return FindString(a, key) == FindString(b, key); });
}

// The entry of an allocated device in status.devices; null: none.
const json::object* StatusOf(const json::object& claim, const json::object& allocated) {
  for (const auto& device : ArrayOrEmpty(claim, "status.devices")) {
    if (device.is_object() && SameDevice(device.get_object(), allocated)) return &device.get_object();
  }
  return nullptr;
}

struct Attachment {
  json::object allocated;
  bool fails = false;
};

void SetAttached(json::object& claim, const Attachment& attachment, const std::string& now) {
  auto& devices = ArrayAt(ObjectAt(claim, "status"), "devices");
  auto place = std::ranges::find_if(devices, [&](const json::value& device) {
    return device.is_object() && SameDevice(device.get_object(), attachment.allocated);
  });
  if (place == devices.end()) {
    json::object fresh;
    for (const std::string_view key : {"driver", "pool", "device", "shareID"})
      CopyMember(attachment.allocated, fresh, key);
    devices.push_back(std::move(fresh));
    place = std::prev(devices.end());
  }
  SetCondition(place->get_object(),
               attachment.fails ? Condition{kAttachFailed, "True", "AttachFailed", "simulated failure"}
                                : Condition{kAttached, "True", "Attached", "simulated"},
               now);
}

}  // namespace

DeviceAttachments::DeviceAttachments(Verbs& verbs, TimerQueue& timers)
    : verbs_(verbs), queue_(timers, verbs.clock(), [this](const std::string& claim) { return Sync(claim); }) {
  for (const auto& [_, claim] : verbs.store().All(Kinds().resource_claims)) {
    OnChange(Kinds().resource_claims, {.version = 0, .before = nullptr, .after = claim, .removed = nullptr});
  }
  verbs.store().Observe(*this);
}

void DeviceAttachments::OnChange(const ResourceType& type, const Change& change) {
  if (&type == &Kinds().resource_claims && change.after && MayWaitForDevices(*change.after))
    queue_.Add(change.after->key);
}

// The attribute of the device in the description of its node; empty: another driver's device.
std::string DeviceAttachments::AttachOf(const json::object& allocated) const {
  const ObjectPtr node = verbs_.store().Get(Known().nodes, FindString(allocated, "pool"));
  if (!node || node->text.find(kDevices) == std::string::npos) return {};
  const Document document = node->Parse();
  const json::value* annotation = Find(ObjectOrEmpty(document.root(), "metadata.annotations"), kDevices);
  if (annotation == nullptr || !annotation->is_string()) return {};
  const auto groups = ParseDevices(annotation->get_string());
  if (!groups) return {};  // its drivers report the error
  for (const auto& pool : PoolsOf(*groups)) {
    if (pool.driver != FindString(allocated, "driver")) continue;
    for (const auto& slice : pool.slices) {
      for (const auto& device : ArrayOrEmpty(slice, "devices")) {
        if (FindString(device.get_object(), "name") != FindString(allocated, "device")) continue;
        const json::value* attach = Find(ObjectOrEmpty(device.get_object(), "attributes"), kAttach);
        return attach == nullptr ? std::string() : std::string(FindString(attach->get_object(), "string"));
      }
    }
  }
  return {};
}

WorkQueue::Outcome DeviceAttachments::Sync(const std::string& key) {
  const ObjectPtr claim = verbs_.store().Get(Kinds().resource_claims, key);
  if (!claim) return {};
  const Document document = claim->Parse();
  const WallTime now = verbs_.clock().WallNow();
  const WallTime allocated_at =
      TimeOf(FindString(document.root(), "status.allocation.allocationTimestamp")).value_or(now);
  std::vector<Attachment> due;
  WorkQueue::Outcome outcome;
  for (const auto& result : ArrayOrEmpty(document.root(), "status.allocation.devices.results")) {
    const json::object& allocated = result.get_object();
    if (FindArray(allocated, "bindingConditions") == nullptr) continue;
    const std::string attach = AttachOf(allocated);
    const bool fails = attach == "fail";
    const auto delay = fails ? std::optional(Duration::zero()) : ParseSpan(attach);
    if (!delay) continue;  // "never", or another driver's device
    const json::object* status = StatusOf(document.root(), allocated);
    if (status != nullptr && IsConditionTrue(*status, fails ? kAttachFailed : kAttached)) continue;
    const Duration rest = TimeAfter(allocated_at, *delay) - now;
    if (rest <= Duration::zero()) {
      due.push_back({.allocated = allocated, .fails = fails});
    } else if (outcome.again_after == Duration::zero() || rest < outcome.again_after) {
      outcome.again_after = rest;
    }
  }
  if (due.empty()) return outcome;
  const auto attach_all = [&](json::object& changed) -> ApiResult<> {
    for (const auto& attachment : due) SetAttached(changed, attachment, FormatTime(now));
    return {};
  };
  outcome.failed = !verbs_.Edit(PlaceOf(*claim), Part::kStatus, attach_all);
  return outcome;
}

}  // namespace berth::sandbox
