// Adds nodes and pods of a trace to a workload: those with equal properties form one group or kind.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/simulate/traces.hpp"

namespace berth::simulate {

// Properties of a node or the requests of a pod.
struct TraceShape {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;                            // bytes
  std::map<std::string, std::int64_t> extended = {};  // amounts of further resources
  std::string label = {}, value = {};                 // of a node; no label if empty
  std::vector<std::string> required = {};  // of a pod: the node must have one of these values of `label`
  std::int32_t priority = 0;               // of a pod
  friend auto operator<=>(const TraceShape&, const TraceShape&) = default;
};

// Recorded times are those of the trace, before they are divided by its speed.
class TraceBuilder {
 public:
  TraceBuilder(const TraceSource& source, Workload& workload) : source_(source), workload_(workload) {}

  // Fails beyond the limits of a workload.
  Expected<void> AddNode(const TraceShape& shape, std::string name);
  // `lifetime`: nullopt if the pod does not end.
  Expected<void> AddPod(const TraceShape& shape, Duration arrival, std::optional<Duration> lifetime);
  // Orders the pods and sets the duration.
  void Finish();

 private:
  std::uint32_t KindOf(const TraceShape& shape);

  const TraceSource& source_;
  Workload& workload_;
  std::map<TraceShape, std::size_t> groups_;
  std::map<TraceShape, std::uint32_t> kinds_;
};

}  // namespace berth::simulate
