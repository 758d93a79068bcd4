#include "scheduler/plugins/low_risk_over_commitment/low_risk_over_commitment.hpp"

#include <algorithm>
#include <cmath>

#include "base/json_fields.hpp"
#include "base/wrap.hpp"
#include "scheduler/plugins/encode_later.hpp"
#include "scheduler/plugins/low_risk_over_commitment/load_distribution.hpp"

namespace berth::plugins {
namespace {

using cluster::Row;

// The largest share of the greatest possible variance, to which the deviation is limited.
constexpr double kMostVariance = 0.99;

}  // namespace

framework::PluginOrError LowRiskOverCommitment::Create(const framework::RawArgs& raw,
                                                       framework::Handle& handle) {
  BERTH_TRY(const OverCommitmentArgs args, ParseOverCommitmentArgs(raw));
  return std::make_unique<LowRiskOverCommitment>(args, handle);
}

LowRiskOverCommitment::LowRiskOverCommitment(const OverCommitmentArgs& args, framework::Handle& handle)
    : args_(args),
      nodes_(handle.nodes),
      measurements_(handle.signals),
      cpu_{NodeLoad::kCpu, &CpuAndMemory::milli_cpu, args.cpu_limit_weight,
           MeasuredLoad(args.trimaran, NodeLoad::kCpu, handle)},
      memory_{NodeLoad::kMemory, &CpuAndMemory::memory, args.memory_limit_weight,
              MeasuredLoad(args.trimaran, NodeLoad::kMemory, handle)} {
  if (!args.trimaran.watcher_address.empty())
    presence_ = measurements_.Declare(PresenceSignalOf(args.trimaran));
  nodes_.ObserveWithOverlays(*this);
}

LowRiskOverCommitment::~LowRiskOverCommitment() { nodes_.Forget(*this); }

framework::Status LowRiskOverCommitment::Score(const framework::Attempt& attempt, const RowSet& feasible,
                                               framework::ScoreColumn& scores) const {
  const bool usable = cpu_.measured.usable() || memory_.measured.usable();
  if (!usable && args_.trimaran.median_if_unmeasured) return {};
  const RowSum pod = SumOf(*attempt.pod().pod);
  if (pod.limits == CpuAndMemory{}) return {};  // no requests either
  const auto column = scores.OverwriteBytes();
  feasible.ForEach([&](std::size_t at) {
    const Row row = static_cast<Row>(at);
    if (!IsPresent(row)) {
      column[at] = 0;
      return;
    }
    const double risk =
        std::max(RiskOf(cpu_, attempt.nodes(), row, pod), RiskOf(memory_, attempt.nodes(), row, pod));
    column[at] = static_cast<std::uint8_t>(std::round((1 - risk) * 100));
  });
  return {};
}

// --- requests and limits of the pods on a row ---

LowRiskOverCommitment::RowSum LowRiskOverCommitment::SumOf(const api::Pod& pod) {
  RowSum sum{EffectiveRequests(pod), EffectiveLimits(pod)};
  sum.limits.milli_cpu = std::max(sum.limits.milli_cpu, sum.requests.milli_cpu);
  sum.limits.memory = std::max(sum.limits.memory, sum.requests.memory);
  return sum;
}

void LowRiskOverCommitment::OnPodAdded(Row row, const cluster::PlacedPod& pod) {
  if (row >= sums_.size()) sums_.resize(nodes_.rows());
  const RowSum more = SumOf(*pod.pod);
  RowSum& sum = sums_[row];
  for (auto amount : {&CpuAndMemory::milli_cpu, &CpuAndMemory::memory}) {
    sum.requests.*amount = WrapAdd(sum.requests.*amount, more.requests.*amount);
    sum.limits.*amount = WrapAdd(sum.limits.*amount, more.limits.*amount);
  }
}

void LowRiskOverCommitment::OnPodRemoved(Row row, const cluster::PlacedPod& pod) {
  if (row >= sums_.size()) return;
  const RowSum less = SumOf(*pod.pod);
  RowSum& sum = sums_[row];
  for (auto amount : {&CpuAndMemory::milli_cpu, &CpuAndMemory::memory}) {
    sum.requests.*amount = WrapSub(sum.requests.*amount, less.requests.*amount);
    sum.limits.*amount = WrapSub(sum.limits.*amount, less.limits.*amount);
  }
}

// --- risks ---

bool LowRiskOverCommitment::IsPresent(Row row) const {
  if (args_.trimaran.median_if_unmeasured) return true;
  if (presence_) return !std::isnan(measurements_.signal(*presence_).At(row));
  return !std::isnan(cpu_.measured.Average(row)) || !std::isnan(memory_.measured.Average(row));
}

double LowRiskOverCommitment::RiskOf(Resource& resource, const cluster::NodeTable& nodes, Row row,
                                     const RowSum& pod) const {
  const auto column = nodes.allocatable(resource.load == NodeLoad::kCpu ? cluster::kCpu : cluster::kMemory);
  const std::int64_t capacity = row < column.size() ? column[row] : 0;
  const double weight = resource.limit_weight;
  const double risk = weight * LimitRisk(resource, capacity, row, pod) +
                      (1 - weight) * LoadRiskOf(resource, nodes, capacity, row);
  return std::clamp(risk, 0.0, 1.0);
}

double LowRiskOverCommitment::LimitRisk(const Resource& resource, std::int64_t capacity, Row row,
                                        const RowSum& pod) const {
  const RowSum there = row < sums_.size() ? sums_[row] : RowSum{};
  const std::int64_t limit = WrapAdd(there.limits.*resource.amount, pod.limits.*resource.amount);
  if (limit <= capacity) return 0;
  const std::int64_t request =
      std::min(WrapAdd(there.requests.*resource.amount, pod.requests.*resource.amount), capacity);
  return static_cast<double>(WrapSub(limit, capacity)) / static_cast<double>(WrapSub(limit, request));
}

double LowRiskOverCommitment::LoadRiskOf(Resource& resource, const cluster::NodeTable& nodes,
                                         std::int64_t capacity, Row row) const {
  const double average = resource.measured.Average(row);
  if (std::isnan(average)) return 0;
  if (row >= resource.load_risks.size()) resource.load_risks.resize(nodes.rows());
  const RowSum there = row < sums_.size() ? sums_[row] : RowSum{};
  const LoadRisk inputs{.requests = std::min(there.requests.*resource.amount, capacity),
                        .limits = there.limits.*resource.amount,
                        .capacity = capacity,
                        .average = average,
                        .deviation = resource.measured.Deviation(row)};
  LoadRisk& known = resource.load_risks[row];
  if (known.requests != inputs.requests || known.limits != inputs.limits ||
      known.capacity != inputs.capacity || known.average != inputs.average ||
      known.deviation != inputs.deviation) {
    known = inputs;
    known.risk = ComputeLoadRisk(inputs, AllocatableOf(nodes, resource.load, row));
  }
  return known.risk;
}

// In the order of operations of scheduler-plugins, so that scores are rounded equally.
double LowRiskOverCommitment::ComputeLoadRisk(const LoadRisk& inputs, double capacity) const {
  double mean = 0;
  double deviation = 0;
  if (capacity > 0) {
    mean = std::clamp((inputs.average * capacity / 100) / capacity, 0.0, 1.0);
    deviation = std::clamp((inputs.deviation * capacity / 100) / capacity, 0.0, 1.0);
  }
  // The deviation of values that are themselves means is too small.
  deviation *= std::sqrt(static_cast<double>(args_.smoothing_window));
  deviation = std::min(deviation, std::sqrt(mean * (1 - mean) * kMostVariance));
  const LoadDistribution load(mean, deviation);
  const auto total = static_cast<double>(inputs.capacity);
  double within = load.Below(std::clamp(static_cast<double>(inputs.requests) / total, 0.0, 1.0));
  // The load cannot exceed limits that the node can satisfy.
  if (inputs.limits < inputs.capacity && inputs.requests <= inputs.limits) {
    const double limit_share = static_cast<double>(inputs.limits) / total;
    if (limit_share == 0) {
      within = 1;
    } else if (load.fitted()) {
      const double below_limit = load.CumulativeAt(limit_share);
      if (below_limit > 0) within = std::clamp(within / below_limit, 0.0, 1.0);
    }
  }
  return 1 - within;
}

std::vector<framework::ScorePart> LowRiskOverCommitment::ScoreParts(const framework::Attempt& attempt,
                                                                    const RowSet& feasible) const {
  const RowSum pod = SumOf(*attempt.pod().pod);
  if (pod.limits == CpuAndMemory{}) return {};
  const std::size_t rows = attempt.nodes().rows();
  std::vector<framework::ScorePart> parts;
  for (Resource* resource : {&cpu_, &memory_}) {
    if (!resource->measured.usable()) continue;
    framework::ScorePart& part =
        parts.emplace_back(framework::ScorePart{.name = resource->load == NodeLoad::kCpu ? "cpu" : "memory",
                                                .weight = 1,
                                                .load = std::vector<double>(rows, load_metrics::kNoValue),
                                                .estimated = std::vector<double>(rows),
                                                .score = std::vector<double>(rows)});
    feasible.ForEach([&](std::size_t at) {
      const Row row = static_cast<Row>(at);
      if (!IsPresent(row)) return;
      part.load[at] = resource->measured.Average(row);
      part.score[at] = 100 * (1 - RiskOf(*resource, attempt.nodes(), row, pod));
    });
  }
  return parts;
}

// --- recordings ---

Expected<framework::StateEncoder> LowRiskOverCommitment::SaveState() {
  return EncodeLater(Saved{.cpu = cpu_.measured.Save(), .memory = memory_.measured.Save()});
}

Expected<void> LowRiskOverCommitment::RestoreState(std::string_view text) {
  BERTH_TRY(const Saved saved, ReadJsonFields<Saved>(text));
  BERTH_RETURN_IF_ERROR(cpu_.measured.Restore(saved.cpu));
  return memory_.measured.Restore(saved.memory);
}

}  // namespace berth::plugins
