// Traces to a collector, as the flags ask for them.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "process/scheduler_flags.hpp"
#include "http/client.hpp"
#include "observability/tracing/otlp_exporter.hpp"

namespace berth::process {

struct Tracing {
  std::unique_ptr<http::Client> transport;
  std::unique_ptr<tracing::OtlpExporter> exporter;  // null: nobody collects traces

  // `instance` names this replica. What is handed in outlives it.
  static Expected<Tracing> Open(const SchedulerFlags& flags, const std::string& instance, http::IoThread& io,
                                const Clock& clock, metrics::Registry& registry);
};

}  // namespace berth::process
