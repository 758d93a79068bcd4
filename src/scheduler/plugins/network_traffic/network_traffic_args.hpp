// Arguments of NetworkTraffic, with the names used in the tutorial that introduced it and in its forks.
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/framework/factory.hpp"

namespace berth::plugins {

struct NetworkTrafficArgs {
  // rate: bytes per second, or the fraction of the link speed if known for every node. classic: the
  // tutorial's value, a sum of counter values that grows with the node's age.
  enum class Mode { kRate, kClassic };

  std::string prometheus_address;            // "http://host:port", or the name of a metric source; alias "ip"
  std::string network_interface = "ens192";  // aliases "deviceName", "device_name"
  std::int64_t time_range_in_minutes = 5;    // aliases "timeRange", "time_range"
  Mode mode = Mode::kRate;
};

// Decoded strictly, defaulted and validated.
Expected<NetworkTrafficArgs> ParseNetworkTrafficArgs(const framework::RawArgs& raw);
config::ArgsCodec NetworkTrafficArgsCodec();

}  // namespace berth::plugins
