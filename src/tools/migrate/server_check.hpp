// Version and resources of the API server.
#pragma once

#include <set>
#include <string>

#include "tools/migrate/findings.hpp"
#include "tools/migrate/server.hpp"

namespace berth::migrate {

struct ServerFacts {
  std::string version{};  // "v1.37.1"
  std::set<std::string>
      absent{};  // "plural.group" of optional watched resources that this server does not have
  std::set<std::string> absent_optional{};  // likewise, of those that only some configurations watch
  std::string pod_groups{};                 // path of scheduling.k8s.io's podgroups; empty: not available
  std::string device_classes{};             // likewise
  std::string elastic_quotas{};             // of scheduler-plugins (scheduling.x-k8s.io); likewise
  std::string koordinator_quotas{};         // its ElasticQuotas (scheduling.sigs.k8s.io); likewise
};

// Fails if the server is unreachable or does not authenticate the caller.
Expected<ServerFacts> DiscoverServer(Server& server, Findings& findings);

}  // namespace berth::migrate
