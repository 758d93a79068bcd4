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

// What operators say of metrics by flags.
struct RegistryOptions {
  bool tells_of_itself = false;  // registered_metrics_total and its like, as component-base 0.37
  std::set<std::string, std::less<>> disabled = {};  // families that are kept, but not shown
  std::set<std::string, std::less<>> hidden = {};    // the same, because a release has deprecated them
  // Values that a label may have, by metric and label; others become "unexpected".
  std::map<std::pair<std::string, std::string>, std::set<std::string>> allowed_values = {};
};

// Families are created by their first mention; later mentions of the same name and labels return the same
// cell. References stay valid as long as the registry. Creation locks and allocates: look cells up once and
// keep them. Asking for one name as two kinds is a mistake in the program and stops it. Safe from any thread.
//
// Help texts begin with Kubernetes' stability level, e.g. "[STABLE] Number of attempts ...". A family without
// cells is not shown, as a label vector without children is not in Kubernetes.
class Registry {
 public:
  explicit Registry(RegistryOptions options = {});
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  metrics::Counter& Counter(std::string_view name, std::string_view help, const Labels& labels = {});
  metrics::Gauge& Gauge(std::string_view name, std::string_view help, const Labels& labels = {});
  // The first mention fixes the buckets of the cell.
  metrics::Histogram& Histogram(std::string_view name, std::string_view help, std::span<const double> bounds,
                                const Labels& labels = {});

  // Numbers that are asked for when somebody looks. `read` is called on the thread that calls Expose, under
  // the registry's lock, so it must not call the registry; a second callback for the same cell replaces the
  // first.
  using Read = std::function<double()>;
  void CallbackGauge(std::string_view name, std::string_view help, const Labels& labels, Read read);
  void CallbackCounter(std::string_view name, std::string_view help, const Labels& labels, Read read);
  // Forgets a callback, for owners that die before the registry.
  void RemoveCallback(std::string_view name, const Labels& labels);

  // Prometheus text format 0.0.4, families sorted by name, cells by labels, labels by name; numbers as Go
  // writes them, so that the text of `le` agrees with kube-scheduler's. With what component-base 0.37 tells
  // of the metrics themselves: registered_metrics_total and its like.
  std::string Expose() const;
  // Counters and histograms start again from zero (DELETE /metrics). Gauges tell a state and stay.
  void Reset();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::metrics
