// Built-in signals of LoadAware, and presets that combine them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/plugins/load_aware/load_aware_args.hpp"

namespace berth::plugins {

// A signal with its query and default settings; nullopt: no such signal.
std::optional<LoadSignalArgs> BuiltInSignal(std::string_view name);
std::vector<std::string> BuiltInSignalNames();

//   balanced   cpu and memory with equal weight; nodes above 90 percent are rejected
//   packing    fills nodes up to 60 percent cpu and 70 percent memory before it uses others
//   streaming  for Flink and similar: cpu, memory, network in both directions, disk; lower thresholds
// nullopt: no such preset.
std::optional<std::vector<LoadSignalArgs>> PresetSignals(std::string_view name);
std::vector<std::string> PresetNames();

// For the guards of a signal: a plain metric that exists on every node for which the signal has a value.
// Empty: unknown.
std::string_view GuardMetricOf(std::string_view name);

// The query for the usage of a resource by the containers of each pod, over `window`, in cores or bytes.
// Empty: not available for this resource.
std::string UseOf(std::string_view resource, std::string_view window);
// The same as the sum for each node.
std::string UseByNode(std::string_view resource, std::string_view window);

// For the built-in signals network-receive and network-transmit; empty: another signal.
// The query for the traffic of each pod in the direction of the signal, in bytes per second. A pod in the
// network of its node has no value, or that of the node.
std::string TrafficOfPods(std::string_view signal, std::string_view window);
// The query for the speed of the slowest or the fastest link of each node, in bytes per second. Links with
// less than a tenth of the traffic of their node are not considered.
enum class Link : std::uint8_t { kSlowest, kFastest };
std::string LinkSpeed(std::string_view signal, Link link, std::string_view window);

}  // namespace berth::plugins
