// OpenTelemetry's trace protocol as JSON (OTLP 1.x, the body of POST /v1/traces).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "observability/tracing/attempt_trace.hpp"

namespace berth::tracing {

// An attempt with the ids of its spans: `span` for the attempt, the following numbers for its parts.
struct IdentifiedTrace {
  AttemptTrace trace;
  std::uint64_t trace_high = 0, trace_low = 0;  // not both 0
  std::uint64_t span = 0;                       // not 0
};

struct Resource {
  std::string service_name = "kube-scheduler";
  std::string service_version = {};
  std::string service_instance = {};  // the identity of this replica
};

// The body of one request. `now` and `wall_now` are the same moment: times are measured with the monotonic
// clock and reported with the wall clock.
std::string ExportRequest(const Resource& resource, std::span<const IdentifiedTrace> traces, MonoTime now,
                          WallTime wall_now);

}  // namespace berth::tracing
