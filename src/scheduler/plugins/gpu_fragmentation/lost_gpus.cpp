#include "scheduler/plugins/gpu_fragmentation/lost_gpus.hpp"

#include <algorithm>

namespace berth::plugins {
namespace {

std::int64_t FreeIn(const cluster::NodeTable& nodes, cluster::ResourceId resource, cluster::Row row) {
  const auto allocatable = nodes.allocatable(resource);
  return allocatable.empty() ? 0 : allocatable[row] - nodes.requested(resource)[row];
}

}  // namespace

void LostGpus::SetMix(std::vector<WorkloadMix::Typical> mix) {
  mix_ = std::move(mix);
  compiled_ = false;
}

GpuTask LostGpus::Compile(const GpuDemand& demand, double weight) {
  GpuTask task{.weight = weight, .milli_cpu = demand.milli_cpu, .memory = demand.memory, .requests = {}};
  for (const auto& [ask, count] : demand.requests) task.requests.push_back({catalog_.AskOf(ask), count});
  return task;
}

// Weights stay, so that all usable GPUs change when the mix does.
void LostGpus::CompileMix() {
  tasks_.clear();
  for (const WorkloadMix::Typical& typical : mix_) tasks_.push_back(Compile(typical.demand, typical.weight));
  for (RowState& row : rows_) row.version = 0;
  compiled_ = true;
}

void LostGpus::Begin(const GpuDemand& demand) {
  catalog_.Refresh();
  if (!compiled_ || ask_epoch_ != catalog_.ask_epoch()) {
    CompileMix();
    // Asks of an earlier mix stay, and count for the limits.
    if (ask_epoch_ != catalog_.ask_epoch()) catalog_.ExemptKnownAsks();
    ask_epoch_ = catalog_.ask_epoch();
    columns_.clear();
  }
  task_ = Compile(demand, 1);
  // The asks of the mix and of the demand are known now: the models do not change before the next decision.
  if (model_epoch_ != catalog_.model_epoch()) {
    model_epoch_ = catalog_.model_epoch();
    for (RowState& row : rows_) row.version = 0;
  }
  ++decisions_;
  std::string key = demand.Key();
  auto found = std::ranges::find(columns_, key, &Column::key);
  if (found == columns_.end() && columns_.size() < kMostColumns) {
    found = columns_.insert(columns_.end(), Column{std::move(key), 0, {}});
  } else if (found == columns_.end()) {
    found = std::ranges::min_element(columns_, {}, &Column::used);
    found->key = std::move(key);
    found->cells.assign(found->cells.size(), Cell{});
  }
  found->used = decisions_;
  column_ = static_cast<std::size_t>(found - columns_.begin());
}

double LostGpus::At(const cluster::NodeTable& nodes, cluster::Row row) {
  RowState& state = Read(nodes, row);
  std::vector<Cell>& cells = columns_[column_].cells;
  if (row >= cells.size()) cells.resize(nodes.rows());
  Cell& cell = cells[row];
  if (cell.version == state.version) return cell.lost;
  cell.version = state.version;
  cell.lost = kNoDevices;
  if (Place(state)) {
    const double left = UsableGpus(catalog_.needs(), RoomAfter(state), tasks_, args_.formula);
    cell.lost = std::max(UsableOn(state) - left, 0.0);
  }
  return cell.lost;
}

std::optional<LostGpus::Result> LostGpus::AfterPlacement(const cluster::NodeTable& nodes, cluster::Row row) {
  const RowState& state = Read(nodes, row);
  if (!Place(state)) return std::nullopt;
  return Result{.free = FreeGpus(catalog_.needs(), after_),
                .usable = UsableGpus(catalog_.needs(), RoomAfter(state), tasks_, args_.formula)};
}

LostGpus::RowState& LostGpus::Read(const cluster::NodeTable& nodes, cluster::Row row) {
  if (row >= rows_.size()) rows_.resize(nodes.rows());
  RowState& state = rows_[row];
  const std::uint64_t picture = catalog_.PictureOf(nodes, row);
  const std::int64_t milli_cpu = FreeIn(nodes, cluster::kCpu, row);
  const std::int64_t memory = FreeIn(nodes, cluster::kMemory, row);
  bool same = state.version != 0 && state.picture == picture && state.milli_cpu == milli_cpu &&
              state.memory == memory;
  for (std::size_t i = 0; i < args_.resources.size(); ++i) {
    const std::int64_t free = FreeIn(nodes, demands_.resource(i), row);
    same = same && state.free[i] == free;
    state.free[i] = free;
  }
  if (same) return state;
  state.version = ++versions_;
  state.picture = picture;
  state.milli_cpu = milli_cpu;
  state.memory = memory;
  catalog_.Read(nodes, row, std::span(state.free).first(args_.resources.size()), state.gpus);
  state.usable_known = false;
  return state;
}

double LostGpus::UsableOn(RowState& state) const {
  if (!state.usable_known) {
    state.usable =
        UsableGpus(catalog_.needs(), {state.milli_cpu, state.memory, state.gpus}, tasks_, args_.formula);
    state.usable_known = true;
  }
  return state.usable;
}

bool LostGpus::Place(const RowState& state) {
  after_.assign(state.gpus.begin(), state.gpus.end());
  return TakeGpus(catalog_.needs(), task_.requests, args_.choice, after_);
}

GpuRoom LostGpus::RoomAfter(const RowState& state) const {
  return {state.milli_cpu - task_.milli_cpu, state.memory - task_.memory, after_};
}

}  // namespace berth::plugins
