// Adds nodes and pods of a trace to a workload: those with equal properties form one group or kind.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/simulate/traces.hpp"

namespace berth {
class Random;
}

namespace berth::simulate {

// The driver of the devices of traces, and the class to which all of them belong.
inline constexpr const char* kDeviceDriver = "gpu.simulation.berth.dev";
// Their capacity: a thousand for each.
inline constexpr const char* kDeviceCapacity = "milli";

// Properties of a node or the requests of a pod.
struct TraceShape {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;                            // bytes
  std::map<std::string, std::int64_t> extended = {};  // amounts of further resources
  std::string label = {}, value = {};                 // of a node; no label if empty
  std::vector<std::string> required = {};  // of a pod: the node must have one of these values of `label`
  std::int32_t priority = 0;               // of a pod
  // Devices of kDeviceDriver on a node, with `value` as model; of a pod, each with this part in thousandths,
  // and of one of the models in `required`.
  std::int64_t devices = 0, device_milli = 0;
  friend auto operator<=>(const TraceShape&, const TraceShape&) = default;
};

// Recorded times are those of the trace, before they are divided by its speed.
class TraceBuilder {
 public:
  TraceBuilder(const TraceSource& source, Workload& workload) : source_(source), workload_(workload) {}

  // Fails beyond the limits of a workload, and if the name is used. `gpus`: thousandths of GPUs that the node
  // has, or that the pod requests; for TraceSource::demand.
  Expected<void> AddNode(const TraceShape& shape, std::string name, std::int64_t gpus = 0);
  // `lifetime`: nullopt if the pod does not end.
  Expected<void> AddPod(const TraceShape& shape, Duration arrival, std::optional<Duration> lifetime,
                        std::int64_t gpus = 0);
  // Orders the pods and sets the duration. Fails if the trace cannot have the demand of the source.
  Expected<void> Finish();

 private:
  std::uint32_t KindOf(const TraceShape& shape);
  Expected<void> CheckNodeNames() const;
  Expected<void> FillDemand(Random& random);

  const TraceSource& source_;
  Workload& workload_;
  std::map<TraceShape, std::size_t> groups_;
  std::map<TraceShape, std::uint32_t> kinds_;
  std::set<std::string> group_names_, kind_names_, node_names_;
  std::vector<std::int64_t> gpus_;  // by pod of the trace
  std::int64_t offered_gpus_ = 0;
};

}  // namespace berth::simulate
