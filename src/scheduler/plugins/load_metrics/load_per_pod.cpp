#include "scheduler/plugins/load_metrics/load_per_pod.hpp"

#include <algorithm>
#include <cmath>

namespace berth::plugins {
namespace {

// The number of pods that a node is assumed to have before anything is learned.
constexpr double kGuessedPods = 10;

}  // namespace

// The least-squares slope, with the previous estimate as an observation whose weight is that of nodes with a
// variance of one pod. A regression without it has no result for nodes with equal numbers of pods, and an
// unstable one if the numbers differ little.
void LoadPerPod::Learn(const load_metrics::Signal& signal, const cluster::NodeTable& nodes,
                       const UnmeasuredPods& unmeasured) {
  double count = 0, pods = 0, load = 0;
  const auto for_each_measured = [&](auto&& visit) {
    nodes.all().ForEach([&](std::size_t at) {
      const auto row = static_cast<cluster::Row>(at);
      const double value = signal.At(row);
      if (!std::isnan(value))
        visit(std::max(0.0, static_cast<double>(nodes.pod_count()[row]) - unmeasured.At(row)), value);
    });
  };
  for_each_measured([&](double node_pods, double value) {
    ++count;
    pods += node_pods;
    load += value;
  });
  if (count == 0) return;
  if (signal.polled_at != polled_at_) {
    if (polled_at_ != MonoTime{}) before_ = value_;
    polled_at_ = signal.polled_at;
  }
  const double mean_pods = pods / count;
  const double mean_load = load / count;
  if (std::isnan(before_)) before_ = std::max(0.0, mean_load) / kGuessedPods;
  double products = 0, squares = 0;
  for_each_measured([&](double node_pods, double value) {
    products += (node_pods - mean_pods) * (value - mean_load);
    squares += (node_pods - mean_pods) * (node_pods - mean_pods);
  });
  const double slope = (products + count * before_) / (squares + count);
  double most = load_metrics::MedianOf(signal.values);
  if (pods > 0) most = std::min(most, load / pods);
  value_ = std::clamp(slope, 0.0, std::max(0.0, most));
}

}  // namespace berth::plugins
