// Arguments of NetworkTraffic, by the names of the tutorial that introduced it and of its forks.
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/framework/factory.hpp"

namespace berth::plugins {

struct NetworkTrafficArgs {
  // rate: bytes per second, or the share of the link's speed where that is known of every node. classic: the
  // tutorial's number, a sum of counter readings that grows with the age of the node.
  enum class Mode { kRate, kClassic };

  std::string prometheus_address;            // "http://host:port", or a metric source's name; also "ip"
  std::string network_interface = "ens192";  // also "deviceName", "device_name"
  std::int64_t time_range_in_minutes = 5;    // also "timeRange", "time_range"
  Mode mode = Mode::kRate;
};

// Read strictly, defaulted and validated.
Expected<NetworkTrafficArgs> ParseNetworkTrafficArgs(const framework::RawArgs& raw);
config::ArgsCodec NetworkTrafficArgsCodec();

}  // namespace berth::plugins
