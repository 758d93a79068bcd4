// An extender of the simulated cluster, and its faults.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/random.hpp"
#include "config/extender_config.hpp"
#include "scheduler/extenders/transport.hpp"

namespace berth::faults {

enum class ExtenderFault {
  kNone,
  kNoResponse,   // the scheduler waits for its timeout
  kServerError,  // 500
  kBadReply,     // not the JSON that the scheduler expects
  kNoServer,     // connection refused
};
inline constexpr int kExtenderFaults = 4;  // beside kNone

// The configuration of the extender: filter and prioritize for every pod.
config::ExtenderConfig ExtenderConfiguration(bool ignorable);
// The extender accepts the node for the pod. `pod_template`, `node`: as in workload.hpp.
bool ExtenderAccepts(std::string_view pod_template, std::size_t node);

// The connections of one replica. A request is answered before Send returns, because the scheduler loop waits
// for it; the time that this takes is reported to `block`. One thread.
class ExtenderClient {
 public:
  ExtenderClient(std::uint64_t seed, std::function<ExtenderFault()> fault,
                 std::function<void(Duration)> block);
  // The client must outlive the transports.
  extenders::TransportMaker Maker();

 private:
  class Transport;
  Expected<extenders::Reply> Answer(const extenders::TransportRequest& request);

  Random random_;
  const std::function<ExtenderFault()> fault_;
  const std::function<void(Duration)> block_;
};

}  // namespace berth::faults
