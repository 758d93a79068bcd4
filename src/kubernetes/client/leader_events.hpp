// "<identity> became leader": the events of an election, as core/v1 events on the Lease.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace berth::client {

class Api;
class Lease;

// The body of the event and its path, as client-go 0.37's recorder creates them.
struct LeaderEvent {
  std::string path, body;
};
LeaderEvent MakeLeaderEvent(const Lease& lease, std::string_view ns, std::string_view name,
                            std::string_view component, std::string_view message, WallTime time);

// Posts the event; it is dropped if it is rejected or does not arrive. On the API's loop.
void SendLeaderEvent(Api& api, LeaderEvent event, std::move_only_function<void()> ended);

}  // namespace berth::client
