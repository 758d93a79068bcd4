// Amounts of resources as Kubernetes writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::introspection {

// Milli-cores of "cpu", bytes, or a count: "1500m", "8Gi", "3".
std::string AmountText(std::string_view resource, std::int64_t amount);

}  // namespace berth::introspection
