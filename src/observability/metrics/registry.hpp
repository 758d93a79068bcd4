// All metrics of one process (or of one simulated scheduler: there may be several registries).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observability/metrics/cells.hpp"

namespace berth::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

// Settings of the metrics flags.
struct RegistryOptions {
  bool tells_of_itself = false;  // exports registered_metrics_total etc., as component-base 0.37
  std::set<std::string, std::less<>> disabled = {};  // families that are recorded, but not exported
  std::set<std::string, std::less<>> hidden = {};    // the same, because a release has deprecated them
  // Allowed values of a label, by metric and label; other values become "unexpected".
  std::map<std::pair<std::string, std::string>, std::set<std::string>> allowed_values = {};
};

// A family is created at its first use; later uses of the same name and labels return the same cell.
// References stay valid as long as the registry. Creation locks and allocates: look cells up once and keep
// them. Using one name for two kinds is a defect and ends the process. Thread-safe.
//
// Help texts begin with Kubernetes' stability level, e.g. "[STABLE] Number of attempts ...". A family without
// cells is not exported, like a label vector without children in Kubernetes.
class Registry {
 public:
  explicit Registry(RegistryOptions options = {});
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  metrics::Counter& Counter(std::string_view name, std::string_view help, const Labels& labels = {});
  // Counts nanoseconds and is exported in seconds.
  metrics::Counter& NanosecondCounter(std::string_view name, std::string_view help,
                                      const Labels& labels = {});
  metrics::Gauge& Gauge(std::string_view name, std::string_view help, const Labels& labels = {});
  // The first use determines the buckets of the cell.
  metrics::Histogram& Histogram(std::string_view name, std::string_view help, std::span<const double> bounds,
                                const Labels& labels = {});

  // Values that are computed on each scrape. `read` is called on the thread that calls Expose, under the
  // registry's lock, so it must not call the registry; a second callback with the same labels replaces the
  // first. Callbacks that differ only in values that are not allowed are exported as their sum.
  using Read = std::function<double()>;
  void CallbackGauge(std::string_view name, std::string_view help, const Labels& labels, Read read);
  void CallbackCounter(std::string_view name, std::string_view help, const Labels& labels, Read read);
  // Removes a callback, for owners that are destroyed before the registry.
  void RemoveCallback(std::string_view name, const Labels& labels);

  // Prometheus text format 0.0.4, families sorted by name, cells by labels, labels by name; numbers in Go's
  // format, so that `le` matches kube-scheduler's. Includes component-base 0.37's metrics about metrics:
  // registered_metrics_total etc.
  std::string Expose() const;
  // Resets counters and histograms to zero (DELETE /metrics). Gauges show a state and are kept.
  void Reset();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::metrics
