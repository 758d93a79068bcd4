#include "scheduler/plugins/load_metrics/unmeasured_pods.hpp"

#include <algorithm>
#include <cmath>

namespace berth::plugins {
namespace {

// Time from the decision to the first instruction: images, volumes, sandbox.
constexpr Duration kStartDelay = std::chrono::seconds(10);
// A poll returns earlier scrapes: on average half of the usual interval.
constexpr Duration kScrapeAge = std::chrono::seconds(15);

}  // namespace

UnmeasuredPods::UnmeasuredPods(framework::Handle& handle, load_metrics::SignalId signal, Estimate estimate)
    : nodes_(handle.nodes), measurements_(handle.signals), signal_(signal), estimate_(std::move(estimate)) {
  nodes_.Observe(*this);
  measurements_.Listen(signal, [this] { Measured(); });
}

UnmeasuredPods::~UnmeasuredPods() { nodes_.Forget(*this); }

void UnmeasuredPods::OnPodAdded(cluster::Row row, const cluster::PlacedPod& pod) {
  if (measurements_.clock() == nullptr) return;
  const UnmeasuredPod newcomer{&pod, StartOf(*pod.pod), estimate_(*pod.pod, pod.use())};
  if (newcomer.estimate == 0 || UnmeasuredPart(newcomer) == 0) return;
  auto& there = unmeasured_pods[row];
  there.push_back(newcomer);
  Sum(row, there);
  Tell(row);
}

void UnmeasuredPods::OnPodRemoved(cluster::Row row, const cluster::PlacedPod& pod) {
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

Duration UnmeasuredPods::MeasuredTime(const UnmeasuredPod& newcomer) const {
  const load_metrics::Signal& signal = measurements_.signal(signal_);
  const bool measured = signal.polled_at != MonoTime{};
  const MonoTime seen = measured ? signal.polled_at - kScrapeAge : measurements_.clock()->Now();
  return seen - newcomer.since - kStartDelay;
}

// The part of the estimate that the last measurement does not include.
double UnmeasuredPods::UnmeasuredPart(const UnmeasuredPod& newcomer) const {
  const Duration window = measurements_.signal(signal_).spec.window;
  const Duration measured = MeasuredTime(newcomer);
  if (measured <= Duration{}) return newcomer.estimate;
  if (measured >= window) return 0;
  return newcomer.estimate *
         (1 - static_cast<double>(measured.count()) / static_cast<double>(window.count()));
}

void UnmeasuredPods::Measured() {
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

void UnmeasuredPods::Sum(cluster::Row row, const std::vector<UnmeasuredPod>& unmeasured_pods) {
  if (row >= sums_.size()) sums_.resize(row + 1);
  RowSum sum;
  for (const UnmeasuredPod& newcomer : unmeasured_pods) {
    sum.unmeasured += UnmeasuredPart(newcomer);
    if (MeasuredTime(newcomer) <= Duration{}) sum.placed_since += newcomer.estimate;
  }
  sums_[row] = sum;
}

}  // namespace berth::plugins
