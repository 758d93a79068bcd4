// Arguments of NetworkTraffic, by the names of the tutorial that introduced it and of its forks.
#pragma once

#include <cstdint>
#include <string>

#include "framework/factory.hpp"

namespace berth::plugins {

struct NetworkTrafficArgs {
  std::string prometheus_address;            // "http://host:port"; also "ip"
  std::string network_interface = "ens192";  // also "deviceName", "device_name"
  std::int64_t time_range_in_minutes = 5;    // also "timeRange", "time_range"
};

// Read strictly, defaulted and validated.
Expected<NetworkTrafficArgs> ParseNetworkTrafficArgs(const framework::RawArgs& raw);
config::ArgsCodec NetworkTrafficArgsCodec();

}  // namespace berth::plugins
