#include "kubernetes/client/informer_metrics.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/ascii.hpp"

namespace berth::client {
namespace {

constexpr double kSeconds[] = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
constexpr std::size_t kDigits = 15;  // more digits are not exact in a double

metrics::Labels LabelsOf(const std::string& group, std::string_view kind, std::string_view path) {
  // client-go forms the plural of every kind with an s: "storageclasss".
  std::string resource = ToAsciiLower(kind) + 's';
  path = path.substr(0, path.rfind('/'));
  return {{"name", "kube-scheduler"},
          {"group", group},
          {"version", std::string(path.substr(path.rfind('/') + 1))},
          {"resource", resource}};
}

}  // namespace

InformerMetrics::InformerMetrics(metrics::Registry& registry, const std::string& group, std::string_view kind,
                                 std::string_view path)
    : InformerMetrics(registry, LabelsOf(group, kind, path)) {}

InformerMetrics::InformerMetrics(metrics::Registry& registry, const metrics::Labels& labels)
    : version_(registry.Gauge("informer_store_resource_version",
                              "[ALPHA] The 15 least significant digits of the resource version of the store.",
                              labels)),
      latency_(registry.Histogram("informer_processing_latency_seconds",
                                  "[ALPHA] Time taken to process events after popping from the queue.",
                                  kSeconds, labels)) {
  // There is no queue: changes are delivered immediately.
  registry.Gauge("informer_queued_items", "[ALPHA] Number of items currently queued in the FIFO.", labels);
}

void InformerMetrics::At(std::string_view resource_version) {
  if (resource_version.size() > kDigits) resource_version.remove_prefix(resource_version.size() - kDigits);
  std::int64_t version = 0;
  std::from_chars(resource_version.data(), resource_version.data() + resource_version.size(), version);
  version_.Set(version);
}

}  // namespace berth::client
