// What the API server is and has.
#pragma once

#include <set>
#include <string>

#include "tools/migrate/findings.hpp"
#include "tools/migrate/server.hpp"

namespace berth::migrate {

struct ServerFacts {
  std::string version{};  // "v1.37.1"
  std::set<std::string>
      absent{};              // "plural.group" of what is watched where it exists, and does not exist here
  std::string pod_groups{};  // the path of scheduling.k8s.io's podgroups; empty: there are none
  std::string resource_slices{};  // likewise
  std::string device_classes{};   // likewise
};

// Fails if the server cannot be reached or does not know us.
Expected<ServerFacts> AskServer(Server& server, Findings& findings);

}  // namespace berth::migrate
