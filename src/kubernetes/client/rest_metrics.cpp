#include "kubernetes/client/rest_metrics.hpp"

namespace berth::client {
namespace {

constexpr double kSeconds[] = {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};
constexpr double kBytes[] = {64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216};

std::string CodeLabel(int status) { return status == 0 ? "<error>" : std::to_string(status); }

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

metrics::Histogram& RestMetrics::Cell(std::map<std::string, metrics::Histogram*>& cells,
                                      const std::string& verb, const char* name, const char* help,
                                      std::span<const double> buckets) {
  metrics::Histogram*& cell = cells[verb];
  if (cell == nullptr) cell = &registry_.Histogram(name, help, buckets, {{"verb", verb}, {"host", host_}});
  return *cell;
}

void RestMetrics::Answered(const std::string& method, int status) {
  metrics::Counter*& cell = requests_[{status, method}];
  if (cell == nullptr) {
    cell =
        &registry_.Counter("rest_client_requests_total",
                           "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
                           {{"code", CodeLabel(status)}, {"method", method}, {"host", host_}});
  }
  cell->Add();
}

void RestMetrics::Retried(const std::string& verb, int status) {
  metrics::Counter*& cell = retries_[{status, verb}];
  if (cell == nullptr) {
    cell =
        &registry_.Counter("rest_client_request_retries_total",
                           "[ALPHA] Number of request retries, partitioned by status code, verb, and host.",
                           {{"code", CodeLabel(status)}, {"verb", verb}, {"host", host_}});
  }
  cell->Add();
}

void RestMetrics::Took(const std::string& verb, Duration time) {
  Cell(durations_, verb, "rest_client_request_duration_seconds",
       "[ALPHA] Request latency in seconds. Broken down by verb, and host.", kSeconds)
      .Observe(Seconds(time));
}

void RestMetrics::Limited(const std::string& verb, Duration waited) {
  Cell(limits_, verb, "rest_client_rate_limiter_duration_seconds",
       "[ALPHA] Client side rate limiter latency in seconds. Broken down by verb, and host.", kSeconds)
      .Observe(Seconds(waited));
}

void RestMetrics::Sizes(const std::string& verb, std::size_t request_bytes, std::size_t response_bytes) {
  Cell(request_sizes_, verb, "rest_client_request_size_bytes",
       "[ALPHA] Request size in bytes. Broken down by verb and host.", kBytes)
      .Observe(static_cast<double>(request_bytes));
  Cell(response_sizes_, verb, "rest_client_response_size_bytes",
       "[ALPHA] Response size in bytes. Broken down by verb and host.", kBytes)
      .Observe(static_cast<double>(response_bytes));
}

}  // namespace berth::client
