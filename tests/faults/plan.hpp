// What happens in a run: a list of steps that depends only on the seed. A run can leave out steps, which is
// how a failing one is made smaller.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace berth::faults {

enum class StepKind : std::uint8_t {
  // --- the cluster's users ---
  kCreatePods,        // `number` pods of template `which`
  kCreateReplicaSet,  // with `number` pods of template `which`
  kScaleReplicaSet,   // the set number `which` to `number` pods
  kDeletePods,        // `number` pods
  kAddNode,           // node number `which`, with a shape of its number
  kDeleteNode,        // node number `which`
  kFailNode,          // node number `which` is silent while the step lasts
  kCordonNode,        // node number `which` is unschedulable while the step lasts
  kTaintNode,         // node number `which` has a NoSchedule taint while the step lasts
  kCreateGroup,       // a pod group of `number` pods of template `which` that start together
  // --- faults; `which` is a replica ---
  kKill,              // SIGKILL; restarted after the step
  kTerminate,         // SIGTERM; restarted after its end
  kStopProcess,       // SIGSTOP, SIGCONT after the step
  kSuspendMachine,    // the monotonic clock stands still, too
  kPartition,         // no message reaches the other side while the step lasts
  kSlowNetwork,       // latencies are `number` times as long
  kRequestFaults,     // requests and watches fail with probabilities that `number` selects
  kCutWatches,        // all watches break
  kStallWatch,        // the watch of resource `number` delivers nothing while the step lasts
  kJumpClock,         // the time of day changes by `number` seconds
  kServerDown,        // the API server is down while the step lasts
  kExtenderFault,     // requests to the extender fail in the way `number` while the step lasts
  kCompact,           // the API server forgets its history: watches cannot be resumed
  kMeasurementFault,  // Prometheus answers in the way `number` while the step lasts
  kDiskFault,         // the disk for recordings fails in the way `number` while the step lasts
};

struct Step {
  std::size_t index = 0;  // in the plan of the seed
  Duration at{};
  StepKind kind{};
  std::size_t which = 0;
  std::int64_t number = 0;
  Duration lasts{};

  friend bool operator==(const Step&, const Step&) = default;
  bool is_fault() const { return kind >= StepKind::kKill; }
};

enum class ExtenderUse : std::uint8_t { kNone, kRequired, kIgnorable };

struct Plan {
  std::uint64_t seed = 0;
  bool groups = false;  // the schedulers have the feature gate GenericWorkload
  ExtenderUse extender = ExtenderUse::kNone;
  bool measured = false;    // the schedulers reject nodes with a high load, and those without a measurement
  bool recorded = false;    // the schedulers record, and each recording must repeat
  std::size_t nodes = 0;    // at the start
  std::vector<Step> steps;  // by time
  bool calm = false;        // the network's latency is constant

  friend bool operator==(const Plan&, const Plan&) = default;
  // Whether a binding reaches the API server soon after its decision.
  bool IsPrompt() const;
  // When the last step has ended.
  Duration End() const;
};

inline constexpr std::size_t kReplicas = 2;
// Of a step kRequestFaults: each bit of `number` selects one kind of fault.
inline constexpr unsigned kRequestFaultBits = 9;
// The resources whose watches a step stalls.
inline constexpr const char* kStalledResources[] = {
    "pods", "nodes", "persistentvolumeclaims", "persistentvolumes", "resourceclaims", "leases"};

Plan MakePlan(std::uint64_t seed);
// Without the steps that `keep` does not contain.
Plan KeepSteps(const Plan& plan, const std::set<std::size_t>& keep);
// "6 nodes, pod groups, a required extender"
std::string DescribeCluster(const Plan& plan);
// "  12.300 s  #7 kill replica-1 for 4.200 s"
std::string Describe(const Step& step);

}  // namespace berth::faults
