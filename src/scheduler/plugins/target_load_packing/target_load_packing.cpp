#include "scheduler/plugins/target_load_packing/target_load_packing.hpp"

#include <algorithm>
#include <cmath>

#include "base/json_fields.hpp"
#include "base/truncate.hpp"
#include "base/wrap.hpp"
#include "scheduler/plugins/encode_later.hpp"
#include "scheduler/plugins/load_metrics/saved_rows.hpp"

namespace berth::plugins {

using cluster::Row;

framework::PluginOrError TargetLoadPacking::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const TargetLoadPackingArgs args, ParseTargetLoadPackingArgs(raw));
  return std::make_unique<TargetLoadPacking>(args, handle);
}

TargetLoadPacking::TargetLoadPacking(const TargetLoadPackingArgs& args, framework::Handle& handle)
    : args_(args),
      nodes_(handle.nodes),
      measurements_(handle.signals),
      used_(measurements_.Declare(LoadSignalOf(args.trimaran, NodeLoad::kCpu, LoadStatistic::kUtilization))),
      recent_pods_(handle, used_, [this](const api::Pod& pod) { return EstimateOf(pod); }) {
  measurements_.Listen(used_,
                       [this] { median_ = load_metrics::MedianOf(measurements_.signal(used_).values); });
}

framework::Status TargetLoadPacking::Score(const framework::Attempt& attempt, const RowSet& feasible,
                                           framework::ScoreColumn& scores) const {
  if (std::isnan(median_)) return {};
  RefreshCapacity();
  const std::int64_t estimate = EstimateOf(*attempt.pod().pod);
  const auto column = scores.OverwriteBytes();
  feasible.ForEach([&](std::size_t row) {
    column[row] = static_cast<std::uint8_t>(ScoreOf(ExpectedPercent(static_cast<Row>(row), estimate)));
  });
  return {};
}

std::int64_t TargetLoadPacking::EstimateOf(const api::Pod& pod) const {
  std::int64_t sum = 0;
  for (const api::Container& container : pod.spec.containers) {
    const api::ResourceRequirements& resources = container.resources;
    std::int64_t usage = args_.default_request_milli_cpu;
    if (const auto limit = resources.limits.find("cpu"); limit != resources.limits.end()) {
      usage = limit->second.MilliValue();
    } else if (const auto request = resources.requests.find("cpu"); request != resources.requests.end()) {
      constexpr double kMost = 9e18;  // converts to an integer
      usage = static_cast<std::int64_t>(
          std::clamp(std::round(static_cast<double>(request->second.MilliValue()) * args_.request_multiplier),
                     -kMost, kMost));
    }
    sum = WrapAdd(sum, usage);
  }
  if (const auto overhead = pod.spec.overhead.find("cpu"); overhead != pod.spec.overhead.end())
    sum = WrapAdd(sum, overhead->second.MilliValue());
  return sum;
}

double TargetLoadPacking::Measured(Row row) const {
  const double value = measurements_.signal(used_).At(row);
  return std::isnan(value) && args_.trimaran.median_if_unmeasured ? median_ : value;
}

// In the order of operations of scheduler-plugins, so that scores are rounded equally.
double TargetLoadPacking::ExpectedPercent(Row row, std::int64_t estimate) const {
  const double measured = Measured(row);
  const double capacity = capacity_[row];
  if (std::isnan(measured) || capacity == 0) return std::isnan(measured) ? measured : 0;
  const double used = (measured / 100) * capacity;
  const auto recent = static_cast<double>(recent_pods_.At(row));
  return 100 * (used + static_cast<double>(estimate) + recent) / capacity;
}

std::int64_t TargetLoadPacking::ScoreOf(double percent) const {
  const auto target = static_cast<double>(args_.target_utilization);
  if (std::isnan(percent) || percent > 100) return 0;
  // Amounts that wrapped, or a malformed measurement, can be negative.
  percent = std::max(percent, 0.0);
  const double score = percent > target ? target * (100 - percent) / (100 - target)
                                        : (100 - target) * percent / target + target;
  return Truncate(std::round(score));
}

// Scheduler-plugins compares with status.capacity, which the table has no column for. A node written by hand
// may have only allocatable amounts.
void TargetLoadPacking::RefreshCapacity() const {
  if (node_changes_ == nodes_.node_changes()) return;
  node_changes_ = nodes_.node_changes();
  capacity_.assign(nodes_.rows(), 0);
  nodes_.all().ForEach([this](std::size_t row) {
    const api::Node& node = nodes_.node(static_cast<Row>(row));
    const api::ResourceList& capacity = node.capacity.empty() ? node.allocatable : node.capacity;
    if (const auto cpu = capacity.find("cpu"); cpu != capacity.end())
      capacity_[row] = static_cast<double>(cpu->second.MilliValue());
  });
}

std::vector<framework::ScorePart> TargetLoadPacking::ScoreParts(const framework::Attempt& attempt,
                                                                const RowSet& feasible) const {
  if (std::isnan(median_)) return {};
  RefreshCapacity();
  const std::int64_t estimate = EstimateOf(*attempt.pod().pod);
  const std::size_t rows = nodes_.rows();
  framework::ScorePart cpu{.name = "cpu",
                           .weight = 1,
                           .load = std::vector<double>(rows, load_metrics::kNoValue),
                           .estimated = std::vector<double>(rows),
                           .score = std::vector<double>(rows)};
  feasible.ForEach([&](std::size_t at) {
    const Row row = static_cast<Row>(at);
    const double percent = ExpectedPercent(row, estimate);
    cpu.load[at] = percent;
    if (capacity_[at] > 0) cpu.estimated[at] = percent - Measured(row);
    cpu.score[at] = static_cast<double>(ScoreOf(percent));
  });
  return {std::move(cpu)};
}

// --- recordings ---

Expected<framework::StateEncoder> TargetLoadPacking::SaveState() {
  return EncodeLater(Saved{.recent = recent_pods_.Save(), .median = median_});
}

Expected<void> TargetLoadPacking::RestoreState(std::string_view text) {
  BERTH_TRY(const Saved saved, ReadJsonFields<Saved>(text));
  if (!IsValue(saved.median)) return Invalid("median: expected a number");
  median_ = saved.median;
  return recent_pods_.Restore(saved.recent);
}

}  // namespace berth::plugins
