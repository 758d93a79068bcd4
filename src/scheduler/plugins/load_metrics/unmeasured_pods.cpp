#include "scheduler/plugins/load_metrics/unmeasured_pods.hpp"

#include <algorithm>
#include <cmath>

namespace berth::plugins {
namespace {

// Time from the decision to the first instruction: images, volumes, sandbox.
constexpr Duration kStartDelay = std::chrono::seconds(10);
// A poll returns earlier scrapes: on average half of the usual interval.
constexpr Duration kScrapeAge = std::chrono::seconds(15);
// For a node with load and without pods, so that the first pods are not all placed on one such node.
constexpr std::int64_t kGuessedPods = 10;

}  // namespace

UnmeasuredPods::UnmeasuredPods(framework::Handle& handle, load_metrics::SignalId signal, Estimate estimate)
    : nodes_(handle.nodes), measurements_(handle.signals), signal_(signal), estimate_(std::move(estimate)) {
  nodes_.Observe(*this);
  measurements_.Listen(signal, [this] { Measured(); });
}

UnmeasuredPods::~UnmeasuredPods() { nodes_.Forget(*this); }

void UnmeasuredPods::OnPodAdded(cluster::Row row, const cluster::PlacedPod& pod, bool imagined) {
  if (imagined || measurements_.clock() == nullptr) return;
  const UnmeasuredPod newcomer{&pod, StartOf(*pod.pod), estimate_(*pod.pod, pod.use())};
  if (newcomer.estimate == 0 || UnmeasuredPart(newcomer) == 0) return;
  auto& there = unmeasured_pods[row];
  there.push_back(newcomer);
  Sum(row, there);
  Tell(row);
}

void UnmeasuredPods::OnPodRemoved(cluster::Row row, const cluster::PlacedPod& pod, bool imagined) {
  if (imagined) return;
  const auto found = unmeasured_pods.find(row);
  if (found == unmeasured_pods.end()) return;
  if (std::erase_if(found->second, [&](const UnmeasuredPod& newcomer) { return newcomer.pod == &pod; }) == 0)
    return;
  Sum(row, found->second);
  if (found->second.empty()) unmeasured_pods.erase(found);
  Tell(row);
}

MonoTime UnmeasuredPods::StartOf(const api::Pod& pod) const {
  const Clock& clock = *measurements_.clock();
  if (pod.status.start_time == 0) return clock.Now();
  const Duration running = clock.WallNow() - WallTime(std::chrono::seconds(pod.status.start_time));
  return clock.Now() - std::max(running, Duration{});
}

// The fraction of the estimate that the last measurement does not include.
double UnmeasuredPods::UnmeasuredPart(const UnmeasuredPod& newcomer) const {
  const load_metrics::Signal& signal = measurements_.signal(signal_);
  const bool measured = signal.polled_at != MonoTime{};
  const MonoTime seen = measured ? signal.polled_at - kScrapeAge : measurements_.clock()->Now();
  const Duration shown = seen - newcomer.since - kStartDelay;
  if (shown <= Duration{}) return newcomer.estimate;
  if (shown >= signal.spec.window) return 0;
  return newcomer.estimate *
         (1 - static_cast<double>(shown.count()) / static_cast<double>(signal.spec.window.count()));
}

void UnmeasuredPods::Measured() {
  per_pod_ = MeanPerPod();
  for (auto at = unmeasured_pods.begin(); at != unmeasured_pods.end();) {
    std::erase_if(at->second,
                  [this](const UnmeasuredPod& newcomer) { return UnmeasuredPart(newcomer) == 0; });
    Sum(at->first, at->second);
    if (at->second.empty()) {
      unmeasured_pods.erase(at++);
    } else {
      ++at;
    }
  }
}

double UnmeasuredPods::MeanPerPod() const {
  const load_metrics::Signal& signal = measurements_.signal(signal_);
  double sum = 0;
  std::int64_t pods = 0, nodes = 0;
  nodes_.all().ForEach([&](std::size_t row) {
    const double value = signal.At(static_cast<cluster::Row>(row));
    if (std::isnan(value)) return;
    sum += value;
    pods += nodes_.pod_count()[row];
    ++nodes;
  });
  if (pods == 0) pods = kGuessedPods * nodes;
  return pods > 0 ? sum / static_cast<double>(pods) : 0;
}

void UnmeasuredPods::Sum(cluster::Row row, const std::vector<UnmeasuredPod>& unmeasured_pods) {
  if (row >= pending_.size()) pending_.resize(row + 1, 0);
  double sum = 0;
  for (const UnmeasuredPod& newcomer : unmeasured_pods) sum += UnmeasuredPart(newcomer);
  pending_[row] = sum;
}

}  // namespace berth::plugins
