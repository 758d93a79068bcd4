#include "scheduler/plugins/trimaran/container_amounts.hpp"

#include <algorithm>

#include "base/wrap.hpp"

namespace berth::plugins {
namespace {

CpuAndMemory CpuAndMemoryOf(const api::ResourceList& list) {
  CpuAndMemory amounts;
  if (const auto cpu = list.find("cpu"); cpu != list.end()) amounts.milli_cpu = cpu->second.MilliValue();
  if (const auto memory = list.find("memory"); memory != list.end()) amounts.memory = memory->second.Value();
  return amounts;
}

// Amounts of pod authors may be so large that sums wrap, as they do in Go.
void AddTo(CpuAndMemory& sum, const CpuAndMemory& more) {
  sum.milli_cpu = WrapAdd(sum.milli_cpu, more.milli_cpu);
  sum.memory = WrapAdd(sum.memory, more.memory);
}

CpuAndMemory EffectiveAmounts(const api::Pod& pod, api::ResourceList api::ResourceRequirements::* list) {
  CpuAndMemory sum;
  for (const api::Container& container : pod.spec.containers)
    AddTo(sum, CpuAndMemoryOf(container.resources.*list));
  for (const api::Container& container : pod.spec.init_containers) {
    const CpuAndMemory init = CpuAndMemoryOf(container.resources.*list);
    sum.milli_cpu = std::max(sum.milli_cpu, init.milli_cpu);
    sum.memory = std::max(sum.memory, init.memory);
  }
  AddTo(sum, CpuAndMemoryOf(pod.spec.overhead));
  return sum;
}

}  // namespace

CpuAndMemory EffectiveRequests(const api::Pod& pod) {
  return EffectiveAmounts(pod, &api::ResourceRequirements::requests);
}

CpuAndMemory EffectiveLimits(const api::Pod& pod) {
  return EffectiveAmounts(pod, &api::ResourceRequirements::limits);
}

}  // namespace berth::plugins
