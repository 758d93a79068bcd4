// Checks the pods and volumes of a cluster for features that Berth lacks or implements differently, and
// counts them.
#pragma once

#include <set>
#include <string>

#include "config/feature_gates.hpp"
#include "tools/migrate/findings.hpp"
#include "tools/migrate/server.hpp"
#include "tools/migrate/server_check.hpp"

namespace berth::migrate {

struct WorkloadCheckOptions {
  std::set<std::string, std::less<>> schedulers{};  // names of Berth's profiles
  config::FeatureGates gates{};
};

// Lists nodes, pods, persistent volumes, device classes and pod groups. A list without permission becomes a
// finding; the others are still checked.
Findings CheckWorkloads(Lists& lists, const ServerFacts& facts, const WorkloadCheckOptions& options);

struct ClusterSize {
  std::size_t nodes = 0, placed_pods = 0, waiting_pods = 0;
};

// Memory of a running scheduler in bytes, as measured in bench/README.md, without attempt records
// (--berth-record-buffer-size) and the equivalence cache (--berth-equivalence-cache-size).
std::size_t MemoryFor(const ClusterSize& size);

}  // namespace berth::migrate
