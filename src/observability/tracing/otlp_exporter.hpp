// Exports traces to an OpenTelemetry collector.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "observability/tracing/attempt_trace.hpp"
#include "observability/tracing/otlp_json.hpp"

namespace berth::http {
class Loop;
class Transport;
}  // namespace berth::http
namespace berth::metrics {
class Registry;
}

namespace berth::tracing {

struct ExporterOptions {
  Resource resource = {};
  double ratio = 1;  // fraction of attempts that are traced, from 0 to 1
  std::string path = "/v1/traces";
  std::vector<std::pair<std::string, std::string>> headers = {};  // sent with each request, e.g. credentials
  std::size_t batch = 256;                                        // attempts in one request
  std::size_t capacity = 4096;                  // attempts that wait; further ones are dropped
  Duration linger = std::chrono::seconds(1);    // how long an attempt waits for a batch to fill
  Duration timeout = std::chrono::seconds(10);  // of a request
  std::uint64_t seed = 1;
};

// Sends attempts by OTLP over HTTP, in batches, one request at a time. A batch is sent up to five times with
// growing delays if the collector is unavailable (nothing sent, 429, 502, 503, 504), and dropped if it is
// rejected. Attempts that do not fit the queue, are rejected or given up count in
// berth_trace_attempts_dropped_total, all others in berth_trace_attempts_exported_total. Of a message, the
// first 4,096 bytes are sent.
//
// ShouldTrace and Finished are called on the scheduler loop (one thread, never blocked). The destructor may
// be called from any thread and drops unsent attempts. Arguments must outlive it.
class OtlpExporter final : public Tracer {
 public:
  OtlpExporter(http::Loop& loop, http::Transport& transport, const Clock& clock, metrics::Registry& registry,
               ExporterOptions options);
  ~OtlpExporter() override;
  OtlpExporter(const OtlpExporter&) = delete;
  OtlpExporter& operator=(const OtlpExporter&) = delete;

  bool ShouldTrace() override;
  void Finished(AttemptTrace trace) override;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::tracing
