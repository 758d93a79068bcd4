#include "scheduler/plugins/load_metrics/load_per_pod.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace berth::plugins {
namespace {

// The number of pods that a node is assumed to have at least before anything is learned.
constexpr double kGuessedPods = 10;
// The weight of that guess. A pod that becomes part of a mean over five minutes within twenty polls has the
// weight 20 * (1 / 20)^2: the guess counts as much as ten such pods.
constexpr double kGuessWeight = 0.5;
// What was learned loses half of its weight within 700 polls, or three hours.
constexpr double kDecay = 0.999;
// Larger values are in no unit the load of a node: 1e18 bytes. One of them would remain in what was learned
// for months, as it only loses a thousandth per poll, and sums of them overflow.
constexpr double kMostLoad = 1e18;

}  // namespace

// The deviations from the means over all nodes remove what changes everywhere. Pods that end are left out:
// their load remains in a mean over a window.
LoadPerPod::Sums LoadPerPod::ChangesSince(const std::vector<Sample>& before) const {
  const auto for_each_change = [&](auto&& visit) {
    for (std::size_t row = 0; row < std::min(now_.size(), before.size()); ++row) {
      const Sample &from = before[row], &to = now_[row];
      if (to.node.known() && to.node == from.node && to.pods >= from.pods)
        visit(to.pods - from.pods, to.load - from.load);
    }
  };
  double count = 0, pods = 0, load = 0;
  for_each_change([&](double more_pods, double more_load) {
    ++count;
    pods += more_pods;
    load += more_load;
  });
  Sums sums;
  for_each_change([&](double more_pods, double more_load) {
    sums.products += (more_pods - pods / count) * (more_load - load / count);
    sums.squares += (more_pods - pods / count) * (more_pods - pods / count);
  });
  return sums;
}

void LoadPerPod::Learn(const load_metrics::Signal& signal, const cluster::NodeTable& nodes,
                       const UnmeasuredPods& unmeasured) {
  if (signal.polled_at != polled_at_) {
    polled_at_ = signal.polled_at;
    learned_ = with_current_;
    std::swap(before_, now_);
  }
  now_.assign(nodes.rows(), {});
  double count = 0, pods = 0, load = 0;
  nodes.all().ForEach([&](std::size_t at) {
    const auto row = static_cast<cluster::Row>(at);
    const double value = signal.At(row);
    if (!(std::abs(value) <= kMostLoad)) return;  // or no value
    const double measured = static_cast<double>(nodes.pod_count()[row]) - unmeasured.At(row);
    now_[row] = {nodes.name_id(row), std::max(0.0, measured), value};
    ++count;
    pods += now_[row].pods;
    load += value;
  });
  if (count == 0) return;
  const Sums changes = ChangesSince(before_);
  with_current_ = {kDecay * learned_.products + changes.products,
                   kDecay * learned_.squares + changes.squares};
  const double guess = load / std::max(pods, kGuessedPods * count);
  const double slope =
      (with_current_.products + kGuessWeight * guess) / (with_current_.squares + kGuessWeight);
  double most = load_metrics::MedianOf(signal.values);
  if (pods > 0) most = std::min(most, load / pods);
  value_ = std::clamp(slope, 0.0, std::max(0.0, most));
}

// --- recordings ---

LoadPerPod::Saved LoadPerPod::Save(const cluster::NodeTable& nodes) {
  return {.value = value_,
          .polled_at = polled_at_,
          .before = SaveSamples(before_, nodes),
          .now = SaveSamples(now_, nodes),
          .learned = {learned_.products, learned_.squares},
          .with_current = {with_current_.products, with_current_.squares}};
}

// Ids of names cannot be saved, and only samples of the node that the row has now count later.
std::vector<LoadPerPod::Saved::OfRow> LoadPerPod::SaveSamples(std::vector<Sample>& samples,
                                                              const cluster::NodeTable& nodes) {
  std::vector<Saved::OfRow> saved;
  for (std::size_t at = 0; at < samples.size(); ++at) {
    const auto row = static_cast<cluster::Row>(at);
    Sample& sample = samples[at];
    if (!sample.node.known()) continue;
    if (!nodes.all().Has(at) || nodes.name_id(row) != sample.node) {
      sample = {};
      continue;
    }
    saved.push_back({row, sample.pods, sample.load});
  }
  return saved;
}

Expected<void> LoadPerPod::Restore(const Saved& saved, const cluster::NodeTable& nodes) {
  if (!std::isfinite(saved.value)) return Invalid("value: expected a finite number");
  value_ = saved.value;
  polled_at_ = saved.polled_at;
  BERTH_TRY(before_, RestoreSamples(saved.before, nodes));
  BERTH_TRY(now_, RestoreSamples(saved.now, nodes));
  BERTH_TRY(learned_, RestoreSums(saved.learned));
  BERTH_TRY(with_current_, RestoreSums(saved.with_current));
  return {};
}

Expected<std::vector<LoadPerPod::Sample>> LoadPerPod::RestoreSamples(const std::vector<Saved::OfRow>& saved,
                                                                     const cluster::NodeTable& nodes) {
  std::vector<Sample> samples(nodes.rows());
  for (const Saved::OfRow& of : saved) {
    if (!nodes.all().Has(of.row) || !std::isfinite(of.pods) || !std::isfinite(of.load))
      return Invalid(fmt::format("row {}: expected a node with finite numbers", of.row));
    samples[of.row] = {nodes.name_id(of.row), of.pods, of.load};
  }
  return samples;
}

Expected<LoadPerPod::Sums> LoadPerPod::RestoreSums(const std::vector<double>& saved) {
  if (saved.size() != 2 || !std::isfinite(saved[0]) || !std::isfinite(saved[1]))
    return Invalid("learned: expected two finite numbers");
  return Sums{saved[0], saved[1]};
}

}  // namespace berth::plugins
