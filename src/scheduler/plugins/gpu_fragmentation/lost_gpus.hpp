// How many usable GPUs a pod would take from the typical pods, by node: computed again only for what has
// changed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/text_map.hpp"
#include "scheduler/framework/attempt.hpp"
#include "scheduler/plugins/gpu_fragmentation/gpu_catalog.hpp"
#include "scheduler/plugins/gpu_fragmentation/workload_mix.hpp"

namespace berth::plugins {

// Keeps the state of every row, and the results of the demands that were used last. Memory: kMostColumns
// results per row and some hundred bytes. A result is computed again when the row's free CPU, memory or
// devices differ from those for which it was computed. Scheduler loop only.
class LostGpus {
 public:
  // The arguments must outlive it.
  LostGpus(const GpuFragmentationArgs& args, const GpuDemands& demands, GpuCatalog& catalog)
      : args_(args), demands_(demands), catalog_(catalog) {}

  // Replaces the mix, whose weights add up to 1.
  void SetMix(std::vector<WorkloadMix::Typical> mix);
  bool has_mix() const { return !mix_.empty(); }
  std::size_t classes() const { return mix_.size(); }

  // To be called once per decision, before At: reads what has changed in the catalog, and selects the demand.
  void Begin(const GpuDemand& demand);
  // Usable GPUs that the demand would take on the row, at least 0; kNoDevices: there are none for it.
  static constexpr double kNoDevices = -1;
  double At(const cluster::NodeTable& nodes, cluster::Row row);

  // For explanations: the free GPUs of the row after the placement and the usable ones of them.
  struct Result {
    double free = 0, usable = 0;
  };
  // nullopt: there are no devices for the demand.
  std::optional<Result> AfterPlacement(const cluster::NodeTable& nodes, cluster::Row row);

 private:
  static constexpr std::size_t kMostColumns = 64;
  struct RowState {
    std::uint64_t version = 0;  // 0: not read yet
    std::uint64_t picture = 0;  // of its devices (devices::NodeDevices)
    std::int64_t milli_cpu = 0, memory = 0;
    std::array<std::int64_t, GpuFragmentationArgs::kMostNames> free{};  // by resource
    std::vector<GpuGroup> gpus;
    double usable = 0;
    bool usable_known = false;
  };
  struct Cell {
    std::uint64_t version = 0;  // of the row for which it was computed
    double lost = 0;
  };
  struct Column {
    std::string key;
    std::uint64_t used = 0;  // number of the last decision
    std::vector<Cell> cells;
  };

  GpuTask Compile(const GpuDemand& demand, double weight);
  void CompileMix();
  RowState& Read(const cluster::NodeTable& nodes, cluster::Row row);
  double UsableOn(RowState& state) const;
  // What is left after the placement, in after_; false: there are no devices.
  bool Place(const RowState& state);
  GpuRoom RoomAfter(const RowState& state) const;

  const GpuFragmentationArgs& args_;
  const GpuDemands& demands_;
  GpuCatalog& catalog_;
  std::vector<WorkloadMix::Typical> mix_;
  std::vector<GpuTask> tasks_;
  bool compiled_ = false;
  std::uint64_t ask_epoch_ = 0, model_epoch_ = 0;  // of tasks_ and of the rows
  std::uint64_t versions_ = 0;                     // given to rows
  std::uint64_t decisions_ = 0;
  std::vector<RowState> rows_;
  std::vector<Column> columns_;
  std::size_t column_ = 0;  // of the current demand
  GpuTask task_;
  std::vector<GpuGroup> after_;
};

}  // namespace berth::plugins
