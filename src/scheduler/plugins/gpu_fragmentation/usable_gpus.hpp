// The part of a node's free GPUs that pods can use: the formula of GpuFragmentation, without any state.
//
// Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
// Descent" (USENIX ATC 2023), define the fragmentation of node n for a class m of tasks, F_n(m), as the free
// GPUs of n that m cannot use, and F_n(M) as its mean over the classes, weighted by their frequency. Here the
// usable part is computed, U_n(m) = free GPUs - F_n(m).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace berth::plugins {

// Consecutive devices of a node, in the order in which they are listed, of one model and with the same amount
// free.
struct GpuGroup {
  std::uint32_t model = 0;
  std::int64_t free = 0;  // of each device, in the units of its model
  std::int64_t count = 0;
  std::uint32_t taken_by = 0;  // internal to TakeGpus: the number of the last request that took them, from 1
  friend bool operator==(const GpuGroup&, const GpuGroup&) = default;
};

// What requests need of devices of each model.
class GpuNeeds {
 public:
  static constexpr std::int64_t kUnusable = -1;

  // The amount that a device of the model has when it is free; at least 1.
  std::int64_t total(std::uint32_t model) const { return totals_[model]; }
  // What a request takes of one device, at least 0; kUnusable: it cannot use the model.
  std::int64_t need(std::uint32_t ask, std::uint32_t model) const { return needs_[ask][model]; }
  std::size_t models() const { return totals_.size(); }
  std::size_t asks() const { return needs_.size(); }

  // Adds a model, with the needs of all asks; returns its index.
  std::uint32_t AddModel(std::int64_t total, std::span<const std::int64_t> needs);
  // Adds an ask, with its needs of all models; returns its index.
  std::uint32_t AddAsk(std::vector<std::int64_t> needs);

 private:
  std::vector<std::int64_t> totals_;              // by model
  std::vector<std::vector<std::int64_t>> needs_;  // by ask, then by model
};

// `count` different devices.
struct GpuRequest {
  std::uint32_t ask = 0;
  std::int64_t count = 0;
};
// Pods with equal requests.
struct GpuTask {
  double weight = 1;
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;  // bytes
  std::vector<GpuRequest> requests;
};

// What is free on a node.
struct GpuRoom {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;
  std::span<const GpuGroup> gpus;
};

enum class GpuFormula : std::uint8_t {
  // The paper's: if one task fits, it can use every device with enough free for it.
  kPublished,
  // In addition, no more than the tasks together for which the node has CPU and memory (not rounded).
  kBalanced,
};

// Which devices a pod gets.
enum class GpuChoice : std::uint8_t {
  kListed,      // the first ones
  kLeastWaste,  // those of which the smallest part is free; of equal ones, the first
};

// The free part of all devices, in devices.
double FreeGpus(const GpuNeeds& needs, std::span<const GpuGroup> gpus);

// The part of it that a task can use; 0 if one task does not fit, or requests no GPU.
double UsableGpus(const GpuNeeds& needs, const GpuRoom& room, const GpuTask& task, GpuFormula formula);
// The mean over the tasks, by weight. The weights must add up to 1.
double UsableGpus(const GpuNeeds& needs, const GpuRoom& room, std::span<const GpuTask> mix,
                  GpuFormula formula);

// Takes devices for the requests, one request after the other, without going back. Returns false if there are
// too few; `gpus` is then undefined. Allocates only if `gpus` has too little capacity.
bool TakeGpus(const GpuNeeds& needs, std::span<const GpuRequest> requests, GpuChoice choice,
              std::vector<GpuGroup>& gpus);

}  // namespace berth::plugins
