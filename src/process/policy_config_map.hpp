// A Policy in a ConfigMap, as kube-scheduler up to 1.22 read it (--policy-configmap).
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "config/scheduler_config.hpp"
#include "kubernetes/client/api.hpp"
#include "process/scheduler_flags.hpp"

namespace berth::process {

// Sends one request to the API server, with a timeout of half a minute. Returns the text of the Policy;
// errors name the ConfigMap.
Expected<std::string> ReadPolicyConfigMap(const SchedulerFlags& flags,
                                          const config::ClientConnection& wanted);

// Extracts the Policy (key policy.cfg) from the API server's response for the ConfigMap `name`
// ("namespace/name").
Expected<std::string> PolicyIn(const client::Reply& reply, std::string_view name);

}  // namespace berth::process
