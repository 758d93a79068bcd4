#include "scheduler/plugins/trimaran/recent_pods.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/wrap.hpp"
#include "scheduler/plugins/load_metrics/run_time.hpp"
#include "scheduler/plugins/load_metrics/saved_rows.hpp"

namespace berth::plugins {
namespace {

// metricsAgentReportingIntervalSeconds of scheduler-plugins.
constexpr Duration kReportingInterval = std::chrono::seconds(60);

}  // namespace

RecentPods::RecentPods(framework::Handle& handle, load_metrics::SignalId signal, Estimate estimate)
    : nodes_(handle.nodes), measurements_(handle.signals), signal_(signal), estimate_(std::move(estimate)) {
  nodes_.Observe(*this);
  measurements_.Listen(signal, [this] { OnPoll(); });
}

RecentPods::~RecentPods() { nodes_.Forget(*this); }

void RecentPods::OnPodAdded(cluster::Row row, const cluster::PlacedPod& pod) {
  if (measurements_.clock() == nullptr) return;
  const RecentPod recent{&pod, StartOf(*pod.pod), estimate_(*pod.pod)};
  if (recent.estimate == 0 || IsMeasured(recent)) return;
  auto& there = pods_[row];
  there.push_back(recent);
  Sum(row, there);
}

void RecentPods::OnPodRemoved(cluster::Row row, const cluster::PlacedPod& pod) {
  const auto found = pods_.find(row);
  if (found == pods_.end()) return;
  if (std::erase_if(found->second, [&](const RecentPod& recent) { return recent.pod == &pod; }) == 0) return;
  Sum(row, found->second);
  if (found->second.empty()) pods_.erase(found);
}

void RecentPods::OnPodStarted(cluster::Row row, const cluster::PlacedPod& pod) {
  OnPodRemoved(row, pod);
  OnPodAdded(row, pod);
  // NodeTable::ReplacePod only lists the row in start_changes, which invalidates no results.
  nodes_.InvalidateResults(row);
}

MonoTime RecentPods::StartOf(const api::Pod& pod) const {
  const Clock& clock = *measurements_.clock();
  if (pod.status.start_time == 0) return clock.Now();
  return clock.Now() - RunTimeOf(pod.status.start_time, clock.WallNow());
}

bool RecentPods::IsMeasured(const RecentPod& pod) const {
  const load_metrics::Signal& signal = measurements_.signal(signal_);
  return signal.polled_at != MonoTime{} && signal.polled_at - pod.since >= kReportingInterval;
}

void RecentPods::OnPoll() {
  for (auto at = pods_.begin(); at != pods_.end();) {
    std::erase_if(at->second, [this](const RecentPod& pod) { return IsMeasured(pod); });
    Sum(at->first, at->second);
    if (at->second.empty()) {
      pods_.erase(at++);
    } else {
      ++at;
    }
  }
}

void RecentPods::Sum(cluster::Row row, const std::vector<RecentPod>& pods) {
  if (row >= sums_.size()) sums_.resize(row + 1);
  std::int64_t sum = 0;
  for (const RecentPod& pod : pods) sum = WrapAdd(sum, pod.estimate);
  sums_[row] = sum;
}

// --- recordings ---

std::vector<RecentPods::Saved> RecentPods::Save() const {
  std::vector<Saved> saved;
  for (const auto& [row, pods] : pods_) {
    for (const RecentPod& pod : pods) saved.push_back({row, UidOf(*pod.pod), pod.since, pod.estimate});
  }
  std::ranges::stable_sort(saved, {}, &Saved::row);
  return saved;
}

Expected<void> RecentPods::Restore(const std::vector<Saved>& saved) {
  pods_.clear();
  sums_.assign(nodes_.rows(), 0);
  for (const Saved& pod : saved) {
    const std::string_view uid = TextOf(pod.uid);
    const cluster::PlacedPod* const placed = FindOnRow(nodes_, pod.row, uid);
    if (placed == nullptr) return Invalid(fmt::format("the pod {} is not on row {}", uid, pod.row));
    pods_[pod.row].push_back({placed, pod.since, pod.estimate});
  }
  for (const auto& [row, pods] : pods_) Sum(row, pods);
  return {};
}

}  // namespace berth::plugins
