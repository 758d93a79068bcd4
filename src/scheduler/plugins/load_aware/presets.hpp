// Signals that LoadAware knows by name, and sets of them that do something good without further ado.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/plugins/load_aware/load_aware_args.hpp"

namespace berth::plugins {

// A signal with its query, and nothing said about how it counts. Nothing: no such signal.
std::optional<LoadSignalArgs> BuiltInSignal(std::string_view name);
std::vector<std::string> BuiltInSignalNames();

//   balanced   cpu and memory alike, hot nodes closed at 90 percent
//   packing    fills nodes up to 60 percent cpu and 70 percent memory, then goes on to the next
//   streaming  for Flink and its like: cpu, memory, network both ways, disk; nodes closed early
// Nothing: no such preset.
std::optional<std::vector<LoadSignalArgs>> PresetSignals(std::string_view name);
std::vector<std::string> PresetNames();

// For the guards of a signal: a plain metric that every node has if the signal has a value there. Empty: none
// is known.
std::string_view GuardMetricOf(std::string_view name);

// What the containers of each pod use of a resource together, over `window`: cores, bytes. Empty: not known
// for that resource.
std::string UseOf(std::string_view resource, std::string_view window);

}  // namespace berth::plugins
