#include "scheduler/plugins/gpu_fragmentation/usable_gpus.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"

namespace berth::plugins {
namespace {

bool Fits(const GpuNeeds& needs, const GpuRequest& request, const GpuGroup& group) {
  const std::int64_t need = needs.need(request.ask, group.model);
  return need != GpuNeeds::kUnusable && group.free > 0 && group.free >= need;
}

double ShareOf(const GpuNeeds& needs, const GpuGroup& group) {
  return static_cast<double>(group.free) / static_cast<double>(needs.total(group.model));
}

// What one task takes, in devices: of the first models that it can use on this node. 0: it does not fit.
double TakenBy(const GpuNeeds& needs, std::span<const GpuGroup> gpus, const GpuTask& task) {
  double taken = 0;
  for (const GpuRequest& request : task.requests) {
    std::int64_t missing = request.count;
    for (const GpuGroup& group : gpus) {
      if (!Fits(needs, request, group)) continue;
      const std::int64_t here = std::min(missing, group.count);
      taken += static_cast<double>(here * needs.need(request.ask, group.model)) /
               static_cast<double>(needs.total(group.model));
      missing -= here;
      if (missing == 0) break;
    }
    if (missing > 0) return 0;
  }
  return taken;
}

// How many tasks have enough of this; negative amounts of overcommitted nodes count as nothing.
double Tasks(std::int64_t free, std::int64_t each) {
  return each <= 0 ? std::numeric_limits<double>::infinity()
                   : static_cast<double>(std::max<std::int64_t>(free, 0)) / static_cast<double>(each);
}

// The group from which request `number` takes its next device; gpus.size() if there is none. The devices of
// one request are different ones.
std::size_t Next(const GpuNeeds& needs, const GpuRequest& request, std::uint32_t number, GpuChoice choice,
                 std::span<const GpuGroup> gpus) {
  std::size_t best = gpus.size();
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i].count == 0 || gpus[i].taken_by == number || !Fits(needs, request, gpus[i])) continue;
    if (choice == GpuChoice::kListed) return i;
    const double share = ShareOf(needs, gpus[i]);
    if (share < least) {
      least = share;
      best = i;
    }
  }
  return best;
}

}  // namespace

std::uint32_t GpuNeeds::AddModel(std::int64_t total, std::span<const std::int64_t> needs) {
  BERTH_CHECK(needs.size() == needs_.size() && total > 0, needs.size(), needs_.size(), total);
  for (std::size_t ask = 0; ask < needs_.size(); ++ask) needs_[ask].push_back(needs[ask]);
  totals_.push_back(total);
  return static_cast<std::uint32_t>(totals_.size() - 1);
}

std::uint32_t GpuNeeds::AddAsk(std::vector<std::int64_t> needs) {
  BERTH_CHECK(needs.size() == totals_.size(), needs.size(), totals_.size());
  needs_.push_back(std::move(needs));
  return static_cast<std::uint32_t>(needs_.size() - 1);
}

double FreeGpus(const GpuNeeds& needs, std::span<const GpuGroup> gpus) {
  double free = 0;
  for (const GpuGroup& group : gpus) free += static_cast<double>(group.count) * ShareOf(needs, group);
  return free;
}

double UsableGpus(const GpuNeeds& needs, const GpuRoom& room, const GpuTask& task, GpuFormula formula) {
  const double tasks = std::min(Tasks(room.milli_cpu, task.milli_cpu), Tasks(room.memory, task.memory));
  if (tasks < 1) return 0;
  const double each = TakenBy(needs, room.gpus, task);
  if (each == 0) return 0;
  double usable = 0;
  for (const GpuGroup& group : room.gpus) {
    const bool fits = std::ranges::any_of(
        task.requests, [&](const GpuRequest& request) { return Fits(needs, request, group); });
    if (fits) usable += static_cast<double>(group.count) * ShareOf(needs, group);
  }
  return formula == GpuFormula::kBalanced ? std::min(usable, tasks * each) : usable;
}

double UsableGpus(const GpuNeeds& needs, const GpuRoom& room, std::span<const GpuTask> mix,
                  GpuFormula formula) {
  double usable = 0;
  for (const GpuTask& task : mix) usable += task.weight * UsableGpus(needs, room, task, formula);
  return usable;
}

// Devices that were taken become a group of their own before the others of their group.
bool TakeGpus(const GpuNeeds& needs, std::span<const GpuRequest> requests, GpuChoice choice,
              std::vector<GpuGroup>& gpus) {
  std::uint32_t number = 0;
  for (const GpuRequest& request : requests) {
    ++number;
    for (std::int64_t missing = request.count; missing > 0;) {
      const std::size_t next = Next(needs, request, number, choice, gpus);
      if (next == gpus.size()) return false;
      GpuGroup part = gpus[next];
      part.count = std::min(missing, part.count);
      part.free -= needs.need(request.ask, part.model);
      part.taken_by = number;
      gpus[next].count -= part.count;
      missing -= part.count;
      gpus.insert(gpus.begin() + static_cast<std::ptrdiff_t>(next), part);
    }
  }
  return true;
}

}  // namespace berth::plugins
