// Clusters and pods for benchmarks, by name.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::bench {

// A watch event: an object was added, modified or deleted. `object` is its JSON.
struct Event {
  enum class Type { kAdded, kModified, kDeleted };
  Type type = Type::kAdded;
  std::string_view kind;
  std::string object;
};
using Listener = std::function<void(const Event&)>;

struct Size {
  std::size_t nodes = 0;
  std::size_t pods = 0;           // pods to schedule
  std::size_t pods_per_node = 0;  // bound pods per node, besides those of the workload
};

// A cluster and the pods to schedule. The same name and size always create the same objects.
struct Workload {
  std::string name;
  std::string about;
  // JSON of the i-th node, and of the i-th pod to schedule.
  std::function<std::string(std::size_t i)> node;
  std::function<std::string(std::size_t i)> pod;
  // Emits further objects that exist before the first decision; may be empty.
  std::function<void(const Listener&, const Size&)> around = {};
  // Emits the changes before the i-th decision; may be empty.
  std::function<void(const Listener&, std::size_t i, const Size&)> churn = {};
  // Emits all objects in order, in place of the functions above; usually empty.
  std::function<void(const Listener&)> recorded = {};
};

// Emits everything in order: nodes, other existing objects, and the pods to schedule (without a node) with
// the changes between them.
void EmitAll(const Workload& workload, const Size& size, const Listener& listener);

// Prints what EmitAll emits, one watch event per line, as input of another scheduler (tests/baseline).
void Dump(const Workload& workload, const Size& size);

const std::vector<Workload>& Workloads();
// Null if there is none of that name.
const Workload* FindWorkload(std::string_view name);

// Nodes of three shapes in three zones. Every tenth has a NoSchedule taint that few pods tolerate, every
// fifth a PreferNoSchedule taint.
std::string MixedNode(std::size_t i);

// Berth's own workloads: various pod constraints in clusters of mixed nodes (own_workloads.cpp).
std::vector<Workload> OwnWorkloads();
// The workloads of kube-scheduler's benchmark suite (scheduler_perf) in their shapes: nodes with 4 CPUs and
// 32 Gi, pods with 100m and 500 Mi (suite_workloads.cpp).
std::vector<Workload> SuiteWorkloads();
// Pods with resource claims: a workload of Berth's own, and those of the suite (device_workloads.cpp).
std::vector<Workload> DeviceWorkloads();
// Pod groups: for bench_groups, and not part of Workloads() (group_workloads.cpp).
std::vector<Workload> GroupWorkloads();

}  // namespace berth::bench
