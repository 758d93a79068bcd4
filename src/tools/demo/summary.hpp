// What a person wants to know at the end of the demonstration.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "tools/demo/observer.hpp"

namespace berth::demo {

// Requested CPU of each node in percent of its allocatable, from the API server on that port.
Expected<std::vector<double>> NodeUse(std::uint16_t port);

// The CPU that is free on the ordinary node that has most of it, in thousandths.
Expected<std::int64_t> MostFreeMilliCpu(std::uint16_t port);

// Several lines, ending in a newline.
std::string Summary(const Observer::Counts& counts, const std::vector<PodSeen>& pods,
                    const std::vector<double>& node_use);

// Where the pods are that look at each other; needs the nodes of the API server on that port.
Expected<std::string> TopologyStory(std::uint16_t port, const std::vector<PodSeen>& pods);

// What became of the latecomer, and of those who had to make room for it.
std::string LatecomerStory(const std::vector<PodSeen>& pods, std::int64_t milli_cpu);

}  // namespace berth::demo
