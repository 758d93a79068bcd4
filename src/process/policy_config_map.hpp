// A Policy that is kept in a ConfigMap, as kube-scheduler up to 1.22 read it (--policy-configmap).
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kubernetes/client/api.hpp"
#include "process/scheduler_flags.hpp"
#include "config/scheduler_config.hpp"

namespace berth::process {

// Asks the API server once, for half a minute at most. The text of the Policy; errors say which ConfigMap it
// is about.
Expected<std::string> ReadPolicyConfigMap(const SchedulerFlags& flags,
                                          const config::ClientConnection& wanted);

// The Policy in an API server's answer about the ConfigMap `name` ("namespace/name"): its key policy.cfg.
Expected<std::string> PolicyIn(const client::Reply& reply, std::string_view name);

}  // namespace berth::process
