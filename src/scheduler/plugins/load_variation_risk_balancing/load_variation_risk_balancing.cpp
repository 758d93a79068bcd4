#include "scheduler/plugins/load_variation_risk_balancing/load_variation_risk_balancing.hpp"

#include <algorithm>
#include <cmath>

#include "base/json_fields.hpp"
#include "scheduler/plugins/encode_later.hpp"

namespace berth::plugins {

using cluster::Row;

framework::PluginOrError LoadVariationRiskBalancing::Create(const framework::RawArgs& raw,
                                                            framework::Handle& handle) {
  BERTH_TRY(const LoadVariationArgs args, ParseLoadVariationArgs(raw));
  return std::make_unique<LoadVariationRiskBalancing>(args, handle);
}

LoadVariationRiskBalancing::LoadVariationRiskBalancing(const LoadVariationArgs& args,
                                                       framework::Handle& handle)
    : args_(args),
      cpu_(args.trimaran, NodeLoad::kCpu, handle),
      memory_(args.trimaran, NodeLoad::kMemory, handle) {}

framework::Status LoadVariationRiskBalancing::Score(const framework::Attempt& attempt, const RowSet& feasible,
                                                    framework::ScoreColumn& scores) const {
  if (!cpu_.usable() && !memory_.usable()) return {};
  const CpuAndMemory request = EffectiveRequests(*attempt.pod().pod);
  const auto column = scores.OverwriteBytes();
  feasible.ForEach([&](std::size_t at) {
    const Row row = static_cast<Row>(at);
    const Risk cpu = CpuRisk(attempt.nodes(), row, request);
    const Risk memory = MemoryRisk(attempt.nodes(), row, request);
    const double score =
        cpu.known && memory.known ? std::min(cpu.score, memory.score) : std::max(cpu.score, memory.score);
    column[at] = static_cast<std::uint8_t>(std::round(score));
  });
  return {};
}

LoadVariationRiskBalancing::Risk LoadVariationRiskBalancing::CpuRisk(const cluster::NodeTable& nodes, Row row,
                                                                     const CpuAndMemory& request) const {
  return RiskOf(cpu_, row, AllocatableOf(nodes, NodeLoad::kCpu, row), static_cast<double>(request.milli_cpu));
}

LoadVariationRiskBalancing::Risk LoadVariationRiskBalancing::MemoryRisk(const cluster::NodeTable& nodes,
                                                                        Row row,
                                                                        const CpuAndMemory& request) const {
  return RiskOf(memory_, row, AllocatableOf(nodes, NodeLoad::kMemory, row),
                static_cast<double>(request.memory) * kMebibytesPerByte);
}

// In the order of operations of scheduler-plugins, so that scores are rounded equally.
LoadVariationRiskBalancing::Risk LoadVariationRiskBalancing::RiskOf(const MeasuredLoad& measured, Row row,
                                                                    double capacity, double request) const {
  const double average = measured.Average(row);
  if (std::isnan(average)) return {};
  if (capacity <= 0) return {.known = true};
  request = std::max(request, 0.0);
  const double used = std::clamp(average * capacity / 100, 0.0, capacity);
  const double deviation = std::clamp(measured.Deviation(row) * capacity / 100, 0.0, capacity);
  const double load = std::clamp((used + request) / capacity, 0.0, 1.0);
  const double variation = VariationOf(std::clamp(deviation / capacity, 0.0, 1.0));
  const double risk = (load + variation) / 2;
  return {.known = true, .load = load, .requested = request / capacity, .score = (1. - risk) * 100};
}

double LoadVariationRiskBalancing::VariationOf(double deviation) const {
  if (args_.sensitivity != 1) deviation = std::pow(deviation, 1 / args_.sensitivity);
  return std::clamp(deviation * args_.margin, 0.0, 1.0);
}

std::vector<framework::ScorePart> LoadVariationRiskBalancing::ScoreParts(const framework::Attempt& attempt,
                                                                         const RowSet& feasible) const {
  const CpuAndMemory request = EffectiveRequests(*attempt.pod().pod);
  const std::size_t rows = attempt.nodes().rows();
  std::vector<framework::ScorePart> parts;
  for (const bool is_cpu : {true, false}) {
    if (!(is_cpu ? cpu_ : memory_).usable()) continue;
    framework::ScorePart& part =
        parts.emplace_back(framework::ScorePart{.name = is_cpu ? "cpu" : "memory",
                                                .weight = 1,
                                                .load = std::vector<double>(rows, load_metrics::kNoValue),
                                                .estimated = std::vector<double>(rows),
                                                .score = std::vector<double>(rows)});
    feasible.ForEach([&](std::size_t at) {
      const Row row = static_cast<Row>(at);
      const Risk risk =
          is_cpu ? CpuRisk(attempt.nodes(), row, request) : MemoryRisk(attempt.nodes(), row, request);
      if (!risk.known) return;
      part.load[at] = risk.load * 100;
      part.estimated[at] = risk.requested * 100;
      part.score[at] = risk.score;
    });
  }
  return parts;
}

// --- recordings ---

Expected<framework::StateEncoder> LoadVariationRiskBalancing::SaveState() {
  return EncodeLater(Saved{.cpu = cpu_.Save(), .memory = memory_.Save()});
}

Expected<void> LoadVariationRiskBalancing::RestoreState(std::string_view text) {
  BERTH_TRY(const Saved saved, ReadJsonFields<Saved>(text));
  BERTH_RETURN_IF_ERROR(cpu_.Restore(saved.cpu));
  return memory_.Restore(saved.memory);
}

}  // namespace berth::plugins
