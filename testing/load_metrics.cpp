#include "testing/load_metrics.hpp"

#include <optional>
#include <stdexcept>

namespace berth::testing {

load_metrics::SignalId FindSignal(load_metrics::SignalTable& measurements, const std::string& name) {
  std::optional<load_metrics::SignalId> begins;
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    const auto id = static_cast<load_metrics::SignalId>(i);
    const std::string& known = measurements.signal(id).spec.name;
    if (known == name) return id;
    if (known.starts_with(name)) begins = id;
  }
  if (!begins) throw std::invalid_argument("no plugin requests " + name);
  return *begins;
}

void Measure(Cluster& cluster, const std::string& signal,
             const std::vector<std::pair<std::string, double>>& nodes, MonoTime polled_at) {
  auto& measurements = cluster.handle().signals;
  load_metrics::SignalAnswer answer{.signal = FindSignal(measurements, signal),
                                    .polled_at = polled_at,
                                    .renumbered = true,
                                    .fresh = nullptr,
                                    .samples = {}};
  std::vector<load_metrics::SeriesName> names;
  for (const auto& [node, value] : nodes) {
    answer.samples.emplace_back(names.size(), value);
    names.push_back({{"node", node}});
  }
  answer.fresh = std::make_shared<const std::vector<load_metrics::SeriesName>>(std::move(names));
  measurements.Take(answer);
}

}  // namespace berth::testing
