// OpenTelemetry's trace protocol in its JSON form (OTLP 1.x, the body of POST /v1/traces).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "observability/tracing/attempt_trace.hpp"

namespace berth::tracing {

// An attempt with the ids of its spans: the attempt's own is `span`, its parts have those that follow.
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

// One request. `now` and `wall_now` are the same moment: times are measured with the one and told with the
// other.
std::string ExportRequest(const Resource& resource, std::span<const IdentifiedTrace> traces, MonoTime now,
                          WallTime wall_now);

}  // namespace berth::tracing
