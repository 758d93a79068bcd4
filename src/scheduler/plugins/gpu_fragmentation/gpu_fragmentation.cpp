#include "scheduler/plugins/gpu_fragmentation/gpu_fragmentation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_fields.hpp"
#include "scheduler/plugins/encode_later.hpp"

namespace berth::plugins {
namespace {

constexpr double kScale = 1e9;

std::int64_t ScoreOf(double lost) {
  return lost == LostGpus::kNoDevices ? 0 : static_cast<std::int64_t>(std::round(kScale / (1 + lost)));
}

std::vector<WorkloadMix::Typical> GivenMix(const GpuFragmentationArgs& args, const GpuDemands& demands) {
  double sum = 0;
  for (const auto& pod : args.mix) sum += pod.weight;
  std::vector<WorkloadMix::Typical> mix;
  for (const auto& pod : args.mix) mix.push_back({demands.Of(pod), pod.weight / sum});
  return mix;
}

}  // namespace

framework::PluginOrError GpuFragmentation::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(GpuFragmentationArgs args, ParseGpuFragmentationArgs(raw));
  return std::make_unique<GpuFragmentation>(std::move(args), handle);
}

GpuFragmentation::GpuFragmentation(GpuFragmentationArgs args, framework::Handle& handle)
    : args_(std::move(args)),
      handle_(handle),
      demands_(args_, handle),
      catalog_(std::make_unique<GpuCatalog>(args_, demands_, handle)),
      learned_(args_.mix.empty() ? std::make_unique<WorkloadMix>(handle, demands_,
                                                                 static_cast<std::size_t>(args_.most_classes))
                                 : nullptr),
      lost_(std::make_unique<LostGpus>(args_, demands_, *catalog_)) {
  if (learned_ == nullptr) lost_->SetMix(GivenMix(args_, demands_));
  // ScoreDependency changes with the first and the last slice.
  handle.objects.Of<api::ResourceSlice>().ListenFor(
      self_, [&handle](const auto&) { handle.nodes.InvalidateResults(); });
}

GpuFragmentation::~GpuFragmentation() = default;

framework::PreFilterResult GpuFragmentation::PreFilter(const framework::Attempt& attempt) const {
  const bool may_need_devices =
      !attempt.pod().pod->spec.resource_claims.empty() || !attempt.pod().fit().scalars.empty();
  if (may_need_devices && args_.choice == GpuChoice::kLeastWaste) attempt.state().Mark(handle_.least_waste);
  return {framework::Status::Skip(), std::nullopt};
}

// The same condition as in PreFilter: where nothing is written, one call is as good as many.
framework::ResultDependency GpuFragmentation::PreFilterDependency(const cluster::PodInfo& pod) const {
  const bool writes = args_.choice == GpuChoice::kLeastWaste &&
                      (!pod.pod->spec.resource_claims.empty() || !pod.fit().scalars.empty());
  return writes ? framework::ResultDependency::kEverything : framework::ResultDependency::kNodes;
}

framework::ResultDependency GpuFragmentation::ScoreDependency(const cluster::PodInfo& pod) const {
  const bool devices_count =
      !pod.pod->spec.resource_claims.empty() || handle_.objects.Of<api::ResourceSlice>().size() > 0;
  return devices_count ? framework::ResultDependency::kEverything : framework::ResultDependency::kRow;
}

// Claims of a pod that passed the filters exist.
bool GpuFragmentation::Begin(const framework::Attempt& attempt) const {
  if (learned_ != nullptr) learned_->Refresh();
  if (learned_ != nullptr && mix_version_ != learned_->version()) {
    mix_version_ = learned_->version();
    lost_->SetMix(learned_->typical());
  }
  if (!lost_->has_mix()) return false;
  const auto demand = demands_.Of(*attempt.pod().pod, attempt.pod().fit(), GpuDemands::Claims::kUnallocated);
  if (!demand || demand->Key().size() > WorkloadMix::kLongestKey) return false;
  lost_->Begin(*demand);
  return true;
}

framework::Status GpuFragmentation::Score(const framework::Attempt& attempt, const RowSet& feasible,
                                          framework::ScoreColumn& scores) const {
  if (!Begin(attempt)) return {};
  const auto column = scores.Overwrite();
  feasible.ForEach([&](std::size_t row) {
    column[row] = ScoreOf(lost_->At(attempt.nodes(), static_cast<cluster::Row>(row)));
  });
  return {};
}

std::vector<framework::ScorePart> GpuFragmentation::ScoreParts(const framework::Attempt& attempt,
                                                               const RowSet& feasible) const {
  if (!Begin(attempt)) return {};
  const cluster::NodeTable& nodes = attempt.nodes();
  framework::ScorePart part{.name = "fragmentation",
                            .weight = 1,
                            .load = std::vector<double>(nodes.rows(), std::nan("")),
                            .estimated = std::vector<double>(nodes.rows()),
                            .score = std::vector<double>(nodes.rows())};
  std::int64_t highest = 0;
  feasible.ForEach([&](std::size_t row) {
    highest = std::max(highest, ScoreOf(lost_->At(nodes, static_cast<cluster::Row>(row))));
  });
  feasible.ForEach([&](std::size_t index) {
    const auto row = static_cast<cluster::Row>(index);
    const auto raw = static_cast<double>(ScoreOf(lost_->At(nodes, row)));
    part.score[row] = highest == 0 ? 0 : 100 * raw / static_cast<double>(highest);
    const auto after = lost_->AfterPlacement(nodes, row);
    if (after) part.load[row] = after->free > 0 ? 100 * (1 - after->usable / after->free) : 0;
  });
  part.note = fmt::format("typical pods of {} kind(s)", lost_->classes());
  if (learned_ != nullptr) part.note += fmt::format(", learned from {} pod(s)", learned_->counted());
  return {std::move(part)};
}

// --- recordings ---

Expected<framework::StateEncoder> GpuFragmentation::SaveState() {
  Saved saved;
  if (learned_ != nullptr) {
    BERTH_TRY(saved.learned, learned_->Save());
  }
  catalog_->Clear();
  return EncodeLater(std::move(saved));
}

Expected<void> GpuFragmentation::RestoreState(std::string_view text) {
  BERTH_TRY(const Saved saved, ReadJsonFields<Saved>(text));
  if (saved.learned.has_value() != (learned_ != nullptr))
    return Invalid("learned: expected as in the arguments");
  return learned_ == nullptr ? Expected<void>() : learned_->Restore(*saved.learned);
}

}  // namespace berth::plugins
