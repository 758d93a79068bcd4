// The feature gates of kube-scheduler v1.37.1, as data; private to this module.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace berth::config {

enum class GateStage : std::uint8_t { kAlpha, kBeta, kGa, kDeprecated };
struct Gate {
  std::string_view name;
  GateStage stage;
  bool on;      // by default
  bool locked;  // cannot be changed from the default
};
struct GateNeed {
  std::string_view gate, needs;
};

std::span<const Gate> AllGates();          // sorted by name
std::span<const GateNeed> AllGateNeeds();  // sorted by gate

}  // namespace berth::config
