// Arguments of GpuFragmentation.
//
//   resources: [nvidia.com/gpu]       # extended resources that count whole GPUs
//   deviceClasses: [gpu.nvidia.com]   # classes of devices that are GPUs
//   capacity: memory                  # the capacity that pods share; a request without it takes a whole GPU
//   deviceChoice: LeastWaste          # which devices of a node claims get; Listed: as kube-scheduler
//   formula: Balanced                 # or Published
//   mix:                              # typical pods; without it they are learned from the pods on nodes
//   - {weight: 3, cpu: "8", memory: 64Gi, gpus: 1}
//   - {weight: 1, cpu: "2", memory: 16Gi, gpus: 1, capacity: 10Gi}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kubernetes/api/quantity.hpp"
#include "scheduler/framework/factory.hpp"
#include "scheduler/plugins/gpu_fragmentation/usable_gpus.hpp"

namespace berth::plugins {

struct GpuFragmentationArgs {
  // Pods of a kind, and how frequent they are in comparison with the others.
  struct TypicalPod {
    double weight = 1;
    std::string cpu, memory;             // quantities; empty: none
    std::int64_t gpus = 1;               // number of GPUs
    std::string capacity = {};           // of each GPU, a quantity; empty: whole GPUs
    std::vector<std::string> selectors;  // CEL expressions that the devices must match
  };

  static constexpr std::size_t kMostNames = 16;  // of each list of names
  static constexpr std::int64_t kMostClasses = 256;
  static constexpr std::int64_t kMostGpus = 1024;  // of one typical pod

  std::vector<std::string> resources = {"nvidia.com/gpu"};
  std::vector<std::string> device_classes = {"gpu.nvidia.com"};
  std::string capacity = "memory";  // of devices; without a domain, that of the driver
  GpuChoice choice = GpuChoice::kListed;
  GpuFormula formula = GpuFormula::kBalanced;
  std::vector<TypicalPod> mix;     // empty: learned
  std::int64_t most_classes = 64;  // of a learned mix: the most frequent ones
};

Expected<GpuFragmentationArgs> ParseGpuFragmentationArgs(const framework::RawArgs& args);
config::ArgsCodec GpuFragmentationArgsCodec();

}  // namespace berth::plugins
