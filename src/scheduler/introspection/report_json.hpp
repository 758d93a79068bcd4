// Reports as JSON: the responses of the HTTP API, documented in docs/reference/scheduler-api.json (OpenAPI).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/introspection/reports.hpp"

namespace berth::introspection {

// How much a reader may see of nodes, of other pods and of other tenants.
enum class PodView : std::uint8_t {
  kSummary,  // counts only, and the pod's own node and tenant
  kNodes,    // names of nodes, the best candidates with their scores, victims, tenants before the pod's
  kRecords,  // kNodes, and the complete decision record of each attempt
};

std::string PodJson(const PodReport& report, PodView view);

// Which pods of the queue are listed; empty: all.
struct QueueFilter {
  std::string ns{}, place{}, plugin{};
  std::size_t limit = 100;
  std::size_t offset = 0;
};
// Counts of all pods by place, plugin, namespace and owner, the shortfall, and the pods that pass the filter,
// by the time since when they are there. At most kMostGroups namespaces and owners, those with most pods.
std::string QueueJson(const QueueReport& report, const QueueFilter& filter);
inline constexpr std::size_t kMostGroups = 50;

struct Identity {
  std::string_view version;  // of Berth
  bool leading = false;
};
std::string StatusJson(const StatusReport& report, const Identity& identity);

}  // namespace berth::introspection
