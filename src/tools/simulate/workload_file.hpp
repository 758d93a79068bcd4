// Reads workload files.
#pragma once

#include <string>
#include <string_view>

#include "base/yaml.hpp"
#include "tools/simulate/workload.hpp"

namespace berth::simulate {

inline constexpr std::string_view kApiVersion = "simulation.berth.dev/v1alpha1";

// YAML or JSON. `folder`: files that the workload names are relative to it. Errors name fields; all are
// reported together as far as possible.
Expected<Workload> ParseWorkload(std::string_view text, const std::string& folder);
Expected<Workload> ReadWorkload(const yaml::Value& root, const std::string& folder);

// The same from a file ("-": standard input).
Expected<Workload> LoadWorkload(const std::string& path);

}  // namespace berth::simulate
