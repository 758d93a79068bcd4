// The configuration of the scheduler that runs in a cluster.
#pragma once

#include <string>

#include "base/result.hpp"
#include "tools/migrate/server.hpp"

namespace berth::explain {

struct RunningConfig {
  std::string text;  // of a KubeSchedulerConfiguration; empty: the scheduler runs with the default one
  std::string feature_gates;  // as the scheduler's flag
  std::string source;         // "ConfigMap kube-system/berth-config of pod kube-system/berth-0"
};

// The configuration of the leader, from its command line and the ConfigMap that it mounts. Errors: why it
// cannot be read, for example a file on the node.
Expected<RunningConfig> FindRunningConfig(migrate::Server& server);

}  // namespace berth::explain
