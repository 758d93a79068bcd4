// Taints of devices and the tolerations of requests.
#pragma once

#include "scheduler/devices/inventory.hpp"

namespace berth::devices {

// The first taint that excludes the device from the request; null: none does. Taints with effects other than
// NoSchedule and NoExecute exclude nothing.
const api::DeviceTaint* UntoleratedTaint(const SliceDevice& device,
                                         const api::ResourceClaim::DeviceRequest& request);

}  // namespace berth::devices
