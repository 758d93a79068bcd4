#include "scheduler/devices/taints.hpp"

#include <algorithm>

namespace berth::devices {
namespace {

bool Tolerates(const api::DeviceToleration& toleration, const api::DeviceTaint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op == "Exists") return true;
  return (toleration.op.empty() || toleration.op == "Equal") && toleration.value == taint.value;
}

}  // namespace

const api::DeviceTaint* UntoleratedTaint(const SliceDevice& device,
                                         const api::ResourceClaim::DeviceRequest& request) {
  const auto found = std::ranges::find_if(device.taints, [&](const api::DeviceTaint& taint) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") return false;
    return std::ranges::none_of(request.tolerations, [&](const api::DeviceToleration& toleration) {
      return Tolerates(toleration, taint);
    });
  });
  return found == device.taints.end() ? nullptr : &*found;
}

}  // namespace berth::devices
