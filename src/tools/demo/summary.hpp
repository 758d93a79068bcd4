// The summary at the end of the demonstration.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "tools/demo/observer.hpp"

namespace berth::demo {

// Requested CPU of each node in percent of its allocatable CPU, from the API server on that port.
Expected<std::vector<double>> NodeUse(std::uint16_t port);

// The largest free CPU of an ordinary node, in millicores.
Expected<std::int64_t> MostFreeMilliCpu(std::uint16_t port);

// Several lines, ending in a newline.
std::string Summary(const Observer::Counts& counts, const std::vector<ObservedPod>& pods,
                    const std::vector<double>& node_use);

// Describes the placement of the pods with topology constraints. Reads the nodes from the API server on that
// port.
Expected<std::string> TopologySummary(std::uint16_t port, const std::vector<ObservedPod>& pods);

// Describes the placement of the late high-priority pod and the pods evicted for it.
std::string PreemptionSummary(const std::vector<ObservedPod>& pods, std::int64_t milli_cpu);

}  // namespace berth::demo
