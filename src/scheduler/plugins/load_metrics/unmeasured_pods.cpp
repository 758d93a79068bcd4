#include "scheduler/plugins/load_metrics/unmeasured_pods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "scheduler/plugins/load_metrics/run_time.hpp"
#include "scheduler/plugins/load_metrics/saved_rows.hpp"

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
  Grow(row);
  pods_[row].push_back(newcomer);
  Sum(row);
  Tell(row);
}

void UnmeasuredPods::OnPodRemoved(cluster::Row row, const cluster::PlacedPod& pod) {
  if (row >= pods_.size()) return;
  UnmeasuredPodsOfRow& there = pods_[row];
  const auto gone = std::ranges::remove(there, &pod, &UnmeasuredPod::pod);
  if (gone.empty()) return;
  there.erase(gone.begin(), gone.end());
  Sum(row);
  Tell(row);
}

void UnmeasuredPods::OnPodStarted(cluster::Row row, const cluster::PlacedPod& pod) {
  OnPodRemoved(row, pod);
  OnPodAdded(row, pod);
  // NodeTable::ReplacePod only lists the row in start_changes, which invalidates no results.
  nodes_.InvalidateResults(row);
}

// Grows with the nodes, not with the first pod of each row, which is part of a decision.
void UnmeasuredPods::OnNodeAdded(cluster::Row row) {
  Grow(row);
  Tell(row);
}

void UnmeasuredPods::Grow(cluster::Row row) {
  if (row < pods_.size()) return;
  sums_.resize(row + 1);
  pods_.resize(row + 1);
}

MonoTime UnmeasuredPods::StartOf(const api::Pod& pod) const {
  const Clock& clock = *measurements_.clock();
  if (pod.status.start_time == 0) return clock.Now();
  return clock.Now() - RunTimeOf(pod.status.start_time, clock.WallNow());
}

Duration UnmeasuredPods::MeasuredTime(const UnmeasuredPod& newcomer) const {
  const load_metrics::Signal& signal = measurements_.signal(signal_);
  const bool measured = signal.polled_at != MonoTime{};
  const MonoTime seen = measured ? signal.polled_at - kScrapeAge : measurements_.clock()->Now();
  return seen - newcomer.since - kStartDelay;
}

// The part of the estimate that the last measurement does not include.
double UnmeasuredPods::UnmeasuredPart(const UnmeasuredPod& newcomer, Duration measured) const {
  if (measured <= Duration{}) return newcomer.estimate;
  const Duration window = measurements_.signal(signal_).spec.window;
  if (measured >= window) return 0;
  return newcomer.estimate *
         (1 - static_cast<double>(measured.count()) / static_cast<double>(window.count()));
}

// small_vector::shrink_to_fit gives up the place inside the object, too.
void UnmeasuredPods::ReturnMemory(UnmeasuredPodsOfRow& empty) {
  std::destroy_at(&empty);
  std::construct_at(&empty);
}

void UnmeasuredPods::Measured() {
  for (cluster::Row row = 0; row < pods_.size(); ++row) {
    UnmeasuredPodsOfRow& pods = pods_[row];
    if (pods.empty() && pods.capacity() == kInPlace) continue;
    const auto gone = std::ranges::remove_if(
        pods, [this](const UnmeasuredPod& newcomer) { return UnmeasuredPart(newcomer) == 0; });
    pods.erase(gone.begin(), gone.end());
    if (pods.empty()) ReturnMemory(pods);
    Sum(row);
  }
}

void UnmeasuredPods::Sum(cluster::Row row) {
  RowSum sum;
  for (const UnmeasuredPod& newcomer : pods_[row]) {
    const Duration measured = MeasuredTime(newcomer);
    sum.unmeasured += UnmeasuredPart(newcomer, measured);
    if (measured <= Duration{}) sum.placed_since += newcomer.estimate;
  }
  sums_[row] = sum;
}

// --- recordings ---

UnmeasuredPods::Saved UnmeasuredPods::Save() const {
  Saved saved;
  for (cluster::Row row = 0; row < pods_.size(); ++row) {
    const UnmeasuredPodsOfRow& pods = pods_[row];
    if (pods.empty()) continue;
    Saved::OfRow& of =
        saved.rows.emplace_back(Saved::OfRow{row, sums_[row].unmeasured, sums_[row].placed_since, {}});
    of.pods.reserve(pods.size());
    for (const UnmeasuredPod& pod : pods) of.pods.push_back({UidOf(*pod.pod), pod.since, pod.estimate});
  }
  return saved;
}

Expected<void> UnmeasuredPods::Restore(const Saved& saved) {
  pods_.assign(nodes_.rows(), {});
  sums_.assign(nodes_.rows(), {});
  for (const Saved::OfRow& of : saved.rows) {
    if (of.row >= nodes_.rows())
      return Invalid(
          fmt::format("row {}: expected a row of the node table, which has {}", of.row, nodes_.rows()));
    UnmeasuredPodsOfRow& pods = pods_[of.row];
    for (const Saved::Pod& pod : of.pods) {
      const std::string_view uid = TextOf(pod.uid);
      const cluster::PlacedPod* const placed = FindOnRow(nodes_, of.row, uid);
      if (placed == nullptr || !std::isfinite(pod.estimate))
        return Invalid(fmt::format("the pod {} is not on row {} with an estimate", uid, of.row));
      pods.push_back({placed, pod.since, pod.estimate});
    }
    if (pods.empty() || !std::isfinite(of.unmeasured) || !std::isfinite(of.placed_since))
      return Invalid(fmt::format("row {}: expected pods with the sums of their estimates", of.row));
    sums_[of.row] = {of.unmeasured, of.placed_since};
  }
  return {};
}

}  // namespace berth::plugins
