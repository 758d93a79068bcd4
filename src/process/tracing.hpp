// Exports traces to a collector, according to the flags.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "http/client.hpp"
#include "observability/metrics/registry.hpp"
#include "observability/tracing/attempt_trace.hpp"
#include "process/scheduler_flags.hpp"

namespace berth::process {

struct Tracing {
  std::unique_ptr<http::Client> transport;
  std::unique_ptr<tracing::Tracer> tracer;  // without a collector it traces nothing

  // `instance` identifies this replica. The arguments must outlive the result.
  static Expected<Tracing> Open(const SchedulerFlags& flags, const std::string& instance, http::IoThread& io,
                                const Clock& clock, metrics::Registry& registry);
};

}  // namespace berth::process
