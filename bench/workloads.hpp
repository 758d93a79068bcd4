// Clusters and pods that benchmarks decide about, by name.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::bench {

// What an API server says of an object: it came, changed, or went. `object` is its JSON.
struct Event {
  enum class Type { kAdded, kModified, kDeleted };
  Type type = Type::kAdded;
  std::string_view kind;
  std::string object;
};
using Listener = std::function<void(const Event&)>;

struct Size {
  std::size_t nodes = 0;
  std::size_t pods = 0;           // to decide about
  std::size_t pods_per_node = 0;  // that are there already, besides those of the workload
};

// A cluster and the pods to decide about. The same name and size always make the same objects.
struct Workload {
  std::string name;
  std::string about;
  // JSON of the i-th node, and of the i-th pod to decide about.
  std::function<std::string(std::size_t i)> node;
  std::function<std::string(std::size_t i)> pod;
  // What is there besides nodes before the first decision; may be empty.
  std::function<void(const Listener&, const Size&)> around = {};
  // What happens before the i-th decision; may be empty.
  std::function<void(const Listener&, std::size_t i, const Size&)> churn = {};
};

// Everything in order: nodes, what is there besides, and the pods to decide about (those that come without a
// node) with what happens between them.
void Tell(const Workload& workload, const Size& size, const Listener& listener);

const std::vector<Workload>& Workloads();
// Null if there is none of that name.
const Workload* FindWorkload(std::string_view name);

// Nodes of three shapes in three zones; every tenth has a taint that few pods tolerate, every fifth one that
// is only to be avoided.
std::string MixedNode(std::size_t i);

// Berth's own: what pods may demand, in clusters of mixed nodes (own_workloads.cpp).
std::vector<Workload> OwnWorkloads();
// After the suite that kube-scheduler is measured with (scheduler_perf), in its shapes: nodes of 4 cpu and 32
// Gi, pods of 100m and 500 Mi (suite_workloads.cpp).
std::vector<Workload> SuiteWorkloads();

}  // namespace berth::bench
