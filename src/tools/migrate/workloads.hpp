// What the pods and volumes of a cluster ask for that Berth does not do, or does otherwise; and how many
// there are.
#pragma once

#include <set>
#include <string>

#include "config/feature_gates.hpp"
#include "tools/migrate/findings.hpp"
#include "tools/migrate/server.hpp"
#include "tools/migrate/server_check.hpp"

namespace berth::migrate {

struct WorkloadQuestion {
  std::set<std::string, std::less<>> schedulers{};  // names of the profiles that Berth would serve
  config::FeatureGates gates{};
};

// Lists nodes, pods, persistent volumes, device classes, resource slices and pod groups. What may not be
// listed is a finding; the rest is told all the same.
Findings CheckWorkloads(Lists& lists, const ServerFacts& facts, const WorkloadQuestion& question);

struct ClusterSize {
  std::size_t nodes = 0, placed_pods = 0, waiting_pods = 0;
};

// Memory in bytes, as bench/README.md measured it: a running scheduler, without what explanations and the
// memory of classes may take besides (--berth-record-buffer-size, --berth-equivalence-cache-size).
std::size_t MemoryFor(const ClusterSize& size);

}  // namespace berth::migrate
