#include "tools/migrate/foreign_plugins.hpp"

#include <algorithm>
#include <iterator>

namespace berth::migrate {
namespace {

constexpr std::string_view kSigs = "kubernetes-sigs/scheduler-plugins";
constexpr std::string_view kByLoad =
    "Berth's LoadAware plugin scores nodes by Prometheus measurements (docs/guide/load-aware.md)";
constexpr std::string_view kKeep =
    "there is nothing like it: keep its profile with the scheduler that has it, or write it anew in C++ "
    "(docs/guide/plugins.md)";

constexpr ForeignPlugin kKnown[] = {
    {"CrossNodePreemption", kSigs, kKeep},
    {"NetworkOverhead", kSigs, kKeep},
    {"NodeMetadata", kSigs, kKeep},
    {"NodeResourceTopologyMatch", kSigs, kKeep},
    {"NodeResourcesAllocatable", kSigs,
     "NodeResourcesFit with scoringStrategy LeastAllocated or MostAllocated is the closest replacement"},
    {"Peaks", kSigs, kByLoad},
    {"PodState", kSigs, kKeep},
    {"PreemptionToleration", kSigs, "DefaultPreemption; preemptionPolicy Never is the closest replacement"},
    {"QOSSort", kSigs, "PrioritySort: set priorities of the pods"},
    {"SySched", kSigs, kKeep},
    {"TopologicalSort", kSigs, "PrioritySort: set priorities of the pods"},
};

}  // namespace

const ForeignPlugin* FindForeignPlugin(std::string_view name) {
  const auto* const found = std::ranges::find(kKnown, name, &ForeignPlugin::name);
  return found == std::end(kKnown) ? nullptr : found;
}

}  // namespace berth::migrate
