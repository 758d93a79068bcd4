#include "process/tracing.hpp"

#include <fmt/format.h>

#include <random>
#include <sstream>

#include "base/files.hpp"
#include "base/trim.hpp"
#include "http/io_thread.hpp"
#include "observability/tracing/otlp_exporter.hpp"

namespace berth::process {
namespace {

// The values are secrets: errors do not contain them.
Expected<http::HeaderList> ReadHeaders(const std::string& path) {
  http::HeaderList headers;
  if (path.empty()) return headers;
  BERTH_TRY(const std::string text, ReadWholeFile(path));
  std::istringstream lines(text);
  int number = 0;
  for (std::string text; std::getline(lines, text);) {
    ++number;
    const std::string_view line = text;
    if (Trimmed(line).empty()) continue;
    const auto colon = line.find(':');
    if (colon == line.npos || Trimmed(line.substr(0, colon)).empty())
      return Invalid(fmt::format("{}: line {}: expected Name: value", path, number));
    headers.emplace_back(Trimmed(line.substr(0, colon)), Trimmed(line.substr(colon + 1)));
  }
  return headers;
}

}  // namespace

Expected<Tracing> Tracing::Open(const SchedulerFlags& flags, const std::string& instance, http::IoThread& io,
                                const Clock& clock, metrics::Registry& registry) {
  Tracing tracing;
  const std::string& endpoint = flags.own.otlp_endpoint;
  if (endpoint.empty()) {
    tracing.tracer = std::make_unique<tracing::NoTracer>();
    return tracing;
  }
  auto origin = http::ParseOrigin(endpoint);
  if (!origin || (!endpoint.starts_with("http://") && !endpoint.starts_with("https://"))) {
    return Invalid(fmt::format(
        "invalid argument \"{}\" for \"--berth-otlp-endpoint\" flag: expected http://HOST:PORT or "
        "https://HOST:PORT",
        endpoint));
  }
  BERTH_TRY(auto headers, ReadHeaders(flags.own.otlp_headers_file));
  BERTH_TRY(tracing.transport, http::Client::Make(io, {.origin = *origin, .max_connections = 1}));
  tracing::ExporterOptions options;
  options.resource = {.service_version = ReportedVersion(flags), .service_instance = instance};
  options.ratio = flags.own.trace_ratio;
  options.headers = std::move(headers);
  options.seed = std::random_device{}();
  tracing.tracer =
      std::make_unique<tracing::OtlpExporter>(io, *tracing.transport, clock, registry, std::move(options));
  return tracing;
}

}  // namespace berth::process
