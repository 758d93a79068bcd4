// Consumable capacity of devices: what a request consumes of a device's capacities, and whether there is room
// for it, as in kube-scheduler v1.37.1 (dynamic-resource-allocation/structured, consumable capacity).
#pragma once

#include <optional>

#include "base/result.hpp"
#include "kubernetes/api/devices.hpp"

namespace berth::devices {

// What a request consumes of each capacity of the device: the requested amount, rounded up as the capacity's
// policy says; without a request the policy's default, or all. Errors have kube-scheduler's texts and mean
// that allocation must stop. `fractional`: the gate DRAFractionalCapacityRange.
Expected<api::QuantityMap> ConsumedCapacity(const api::Device& device,
                                            const std::optional<api::QuantityMap>& requested,
                                            bool fractional);

// Whether the device has every requested capacity, the consumed amounts comply with the policies, and they
// fit beside what is consumed already: by allocations (`used`), and by devices chosen in this attempt
// (`chosen`).
Expected<bool> HasCapacity(const api::Device& device, const std::optional<api::QuantityMap>& requested,
                           const api::QuantityMap& used, const api::QuantityMap& chosen, bool fractional);

// Running sums of consumed amounts, by capacity. The values are exact, but after a subtraction a sum may be
// in another form than one that is added up anew (api::Quantity). A subtraction drops a sum that becomes
// zero.
void AddAmounts(api::QuantityMap& sums, const api::QuantityMap& amounts);
void SubtractAmounts(api::QuantityMap& sums, const api::QuantityMap& amounts);

}  // namespace berth::devices
