// Reports about nodes and plugins as JSON: responses of the scheduler's API, documented in
// docs/reference/scheduler-api.json (OpenAPI).
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/introspection/node_reports.hpp"

namespace berth::introspection {

// How much a reader may see of pods.
enum class NodeView : std::uint8_t {
  kSummary,  // counts only
  kPods,     // also names of pods
};

std::string NodeJson(const NodeReport& report, NodeView view);

struct NodesPage {
  std::size_t limit = 500;
  std::size_t offset = 0;
};
// By name.
std::string NodesJson(const NodesReport& report, const NodesPage& page);
std::string PreemptionsJson(const PreemptionsReport& report);
std::string PluginsJson(const PluginsReport& report);

}  // namespace berth::introspection
