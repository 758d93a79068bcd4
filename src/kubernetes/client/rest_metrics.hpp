// The rest_client_* metrics of client-go 0.37, for one host.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {

// Cells are looked up once per label values. One thread.
class RestMetrics {
 public:
  RestMetrics(metrics::Registry& registry, std::string host) : registry_(registry), host_(std::move(host)) {}

  // Status 0: no response.
  void Answered(const std::string& method, int status);
  void Took(const std::string& verb, Duration time);
  void Sizes(const std::string& verb, std::size_t request_bytes, std::size_t response_bytes);
  void Limited(const std::string& verb, Duration waited);
  void Retried(const std::string& verb, int status);

 private:
  metrics::Histogram& Cell(std::map<std::string, metrics::Histogram*>& cells, const std::string& verb,
                           const char* name, const char* help, std::span<const double> buckets);

  metrics::Registry& registry_;
  const std::string host_;
  std::map<std::pair<int, std::string>, metrics::Counter*> requests_{}, retries_{};
  std::map<std::string, metrics::Histogram*> durations_{}, limits_{}, request_sizes_{}, response_sizes_{};
};

}  // namespace berth::client
