// Exports traces to a collector, according to the flags.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "http/client.hpp"
#include "observability/tracing/otlp_exporter.hpp"
#include "process/scheduler_flags.hpp"

namespace berth::process {

struct Tracing {
  std::unique_ptr<http::Client> transport;
  std::unique_ptr<tracing::OtlpExporter> exporter;  // null: no collector

  // `instance` identifies this replica. The arguments must outlive the result.
  static Expected<Tracing> Open(const SchedulerFlags& flags, const std::string& instance, http::IoThread& io,
                                const Clock& clock, metrics::Registry& registry);
};

}  // namespace berth::process
