#include "scheduler/plugins/load_metrics/workload_usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/ascii.hpp"
#include "scheduler/plugins/load_metrics/run_time.hpp"

namespace berth::plugins {
namespace {

// Smoothing factor: the weight of the newest value.
constexpr double kSmoothing = 0.2;
// Limits for workloads without pods: age and number.
constexpr Duration kMemory = std::chrono::hours(24 * 7);
constexpr std::size_t kMostWorkloads = 20000;
// Larger values are no usage: their sum could overflow, and smoothing would keep an infinite value for ever.
constexpr double kMostUse = 1e100;

}  // namespace

// The minute is counted from 1970.
std::string_view WithoutScheduledMinute(std::string_view job) {
  constexpr std::size_t kMinuteDigits = 8;
  const auto dash = job.rfind('-');
  if (dash == job.npos || job.size() - dash - 1 != kMinuteDigits) return job;
  const bool digits =
      std::all_of(job.begin() + static_cast<std::ptrdiff_t>(dash) + 1, job.end(), IsAsciiDigit);
  return digits ? job.substr(0, dash) : job;
}

std::string WorkloadOf(const api::Pod& pod) {
  const auto& controller = pod.metadata.controller;
  if (!controller) return {};
  std::string_view name = controller->name;
  if (const std::string* hash = pod.metadata.labels.Find(kTemplateHashLabel);
      hash != nullptr && name.ends_with("-" + *hash)) {
    name.remove_suffix(hash->size() + 1);
  } else if (controller->kind == "Job") {
    name = WithoutScheduledMinute(name);
  }
  return pod.metadata.ns + "/" + controller->kind + "/" + std::string(name);
}

WorkloadUsage::WorkloadUsage(framework::Handle& handle, load_metrics::SignalId signal)
    : nodes_(handle.nodes), measurements_(handle.signals), signal_(signal) {
  nodes_.Observe(*this);
  handle.signals.ListenToPods(signal, [this](const load_metrics::SignalAnswer& answer) { Take(answer); });
}

WorkloadUsage::~WorkloadUsage() { nodes_.Forget(*this); }

double WorkloadUsage::Of(const api::Pod& pod) const {
  const auto found = workloads_.find(WorkloadOf(pod));
  return found == workloads_.end() ? load_metrics::kNoValue : found->second.use;
}

void WorkloadUsage::OnPodAdded(cluster::Row, const cluster::PlacedPod& pod) {
  if (std::string workload = WorkloadOf(*pod.pod); !workload.empty())
    running_.insert_or_assign(pod.pod->metadata.Key(), Running{&pod, std::move(workload)});
}

void WorkloadUsage::OnPodRemoved(cluster::Row, const cluster::PlacedPod& pod) {
  const auto found = running_.find(pod.pod->metadata.Key());
  if (found != running_.end() && found->second.pod == &pod) running_.erase(found);
}

// A rate over a window longer than the pod's run time is too small.
bool WorkloadUsage::IsLearnable(const api::Pod& pod) const {
  const Clock* clock = measurements_.clock();
  if (clock == nullptr) return true;
  if (pod.status.start_time == 0) return false;
  return RunTimeOf(pod.status.start_time, clock->WallNow()) > measurements_.signal(signal_).spec.window;
}

void WorkloadUsage::Take(const load_metrics::SignalAnswer& answer) {
  if (answer.renumbered) series_.clear();
  if (answer.fresh != nullptr) {
    for (const load_metrics::SeriesName& labels : *answer.fresh) {
      std::string& name = series_.emplace_back();
      if (labels.size() == 2) name = labels[0].second + "/" + labels[1].second;
    }
  }
  std::vector<std::string_view> learned;
  for (const auto& [series, value] : answer.samples) {
    if (series >= series_.size() || !(std::abs(value) <= kMostUse)) continue;
    const auto pod = running_.find(series_[series]);
    if (pod == running_.end() || !IsLearnable(*pod->second.pod->pod)) continue;
    Workload& workload = workloads_[pod->second.workload];
    workload.sum += value;
    if (workload.pods++ == 0) learned.push_back(pod->second.workload);
  }
  for (const std::string_view name : learned) {
    Workload& workload = workloads_.find(std::string(name))->second;
    const double mean = workload.sum / workload.pods;
    workload.use = std::isnan(workload.use) ? mean : (1 - kSmoothing) * workload.use + kSmoothing * mean;
    workload.learned = answer.polled_at;
    workload.sum = 0;
    workload.pods = 0;
  }
  ForgetOld(answer.polled_at);
  known_ = workloads_.size();
}

void WorkloadUsage::ForgetOld(MonoTime now) {
  boost::unordered::erase_if(workloads_,
                             [&](const auto& entry) { return now - entry.second.learned > kMemory; });
  if (workloads_.size() <= kMostWorkloads) return;
  std::vector<MonoTime> times;
  for (const auto& [name, workload] : workloads_) times.push_back(workload.learned);
  const auto last = times.begin() + static_cast<std::ptrdiff_t>(times.size() - kMostWorkloads);
  std::ranges::nth_element(times, last);
  boost::unordered::erase_if(workloads_, [&](const auto& entry) { return entry.second.learned < *last; });
}

// --- recordings ---

WorkloadUsage::Saved WorkloadUsage::Save() const {
  Saved saved{.learned = {}, .series = series_};
  for (const auto& [name, workload] : workloads_)
    saved.learned.push_back({name, workload.use, workload.learned});
  std::ranges::sort(saved.learned, {}, &Saved::Learned::workload);
  return saved;
}

Expected<void> WorkloadUsage::Restore(const Saved& saved) {
  if (saved.learned.size() > kMostWorkloads)
    return Invalid(fmt::format("learned: expected at most {} workloads", kMostWorkloads));
  workloads_.clear();
  for (const Saved::Learned& learned : saved.learned) {
    if (!std::isfinite(learned.use))
      return Invalid(fmt::format("learned: {}: expected a finite number", learned.workload));
    workloads_[learned.workload] = {.use = learned.use, .learned = learned.at};
  }
  series_ = saved.series;
  known_ = workloads_.size();
  return {};
}

}  // namespace berth::plugins
