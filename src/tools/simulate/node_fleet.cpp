#include "tools/simulate/node_fleet.hpp"

#include <fmt/format.h>

#include "base/check.hpp"

namespace berth::simulate {
namespace {

constexpr const char* kUnreachable = "node.kubernetes.io/unreachable";

// The devices of a node.
api::ResourceSlice Devices(const api::ResourceSlice& model, const std::string& node) {
  api::ResourceSlice slice = model;
  slice.metadata.name = node;
  slice.metadata.uid = "slice-" + node;
  slice.node_name = node;
  slice.pool = node;
  slice.pool_generation = 1;
  slice.pool_slice_count = 1;
  return slice;
}

}  // namespace

NodeFleet::NodeFleet(const Workload& workload, std::uint64_t seed, simulation::VirtualCluster& cluster,
                     Meter& meter, Result& result, LosePods lose_pods)
    : workload_(workload),
      seed_(seed),
      cluster_(cluster),
      meter_(meter),
      result_(result),
      lose_pods_(std::move(lose_pods)),
      counts_(workload.groups.size()),
      numbers_(workload.groups.size()) {}

void NodeFleet::Start() {
  for (std::size_t group = 0; group < workload_.groups.size(); ++group) {
    for (std::size_t i = 0; i < workload_.groups[group].count; ++i) Add(group);
  }
  for (const Outage& outage : workload_.outages)
    cluster_.time().At(outage.at, [this, &outage] { FailTogether(outage); });
}

std::optional<std::uint32_t> NodeFleet::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

void NodeFleet::Add(std::size_t group) {
  const NodeGroup& of = workload_.groups[group];
  const std::size_t number = numbers_[group]++;
  const bool named = number < of.names.size();
  const std::string zone = of.zones.empty() ? "" : of.zones[number % of.zones.size()];
  const std::uint32_t index = meter_.AddNode(group, zone, cluster_.time().now());
  if (index >= nodes_.size()) {
    nodes_.resize(index + 1);
    zones_.resize(index + 1);
  }
  Node& node = nodes_[index];
  zones_[index] = zone;
  node.name = named ? of.names[number] : fmt::format("{}-{}", of.name, number);
  node.group = static_cast<std::uint32_t>(group);
  node.exists = node.ready = true;
  node.empty_since = cluster_.time().now();
  node.random = Random(Random(seed_ + (std::uint64_t{group} << 32) + number).Next());
  ++node.incarnation;
  ++counts_[group];
  by_name_[node.name] = index;
  cluster_.api().Put(Object(index));
  if (of.devices) cluster_.api().Put(Devices(*of.devices, node.name));
  if (of.failures) ScheduleFailure(index);
}

void NodeFleet::Remove(std::uint32_t index) {
  Node& node = nodes_[index];
  BERTH_CHECK(node.exists && node.pods.empty(), node.name);
  meter_.RemoveNode(index, cluster_.time().now());
  cluster_.api().Remove<api::Node>(node.name);
  cluster_.api().Remove<api::ResourceSlice>(node.name);
  by_name_.erase(node.name);
  node.exists = node.ready = false;
  ++node.incarnation;
  --counts_[node.group];
  ++result_.nodes_removed;
}

// --- failures ---

void NodeFleet::ScheduleFailure(std::uint32_t index) {
  Node& node = nodes_[index];
  const NodeFailures& failures = *workload_.groups[node.group].failures;
  const double seconds = std::chrono::duration<double>(failures.mean_time_between).count();
  const std::uint64_t incarnation = node.incarnation;
  cluster_.time().After(DrawGap(1 / seconds, node.random),
                        [this, index, incarnation, lasts = failures.repair] {
                          if (nodes_[index].incarnation == incarnation) Fail(index, lasts);
                        });
}

void NodeFleet::FailTogether(const Outage& outage) {
  std::size_t left = outage.count;
  for (std::uint32_t index = 0; index < nodes_.size() && left > 0; ++index) {
    if (!nodes_[index].ready || nodes_[index].group != outage.group) continue;
    Fail(index, outage.lasts);
    --left;
  }
}

void NodeFleet::Fail(std::uint32_t index, Duration lasts) {
  Node& node = nodes_[index];
  node.ready = false;
  const std::uint64_t incarnation = ++node.incarnation;
  ++result_.nodes_failed;
  meter_.SetReady(index, false, cluster_.time().now());
  cluster_.api().Put(Object(index));
  const auto same = [this, index, incarnation] { return nodes_[index].incarnation == incarnation; };
  cluster_.time().After(workload_.eviction_after, [this, index, same] {
    if (same()) lose_pods_(index);
  });
  cluster_.time().After(lasts, [this, index, same] {
    if (same()) Repair(index);
  });
}

void NodeFleet::Repair(std::uint32_t index) {
  Node& node = nodes_[index];
  node.ready = true;
  ++node.incarnation;
  if (node.pods.empty()) node.empty_since = cluster_.time().now();
  meter_.SetReady(index, true, cluster_.time().now());
  cluster_.api().Put(Object(index));
  if (workload_.groups[node.group].failures) ScheduleFailure(index);
}

api::Node NodeFleet::Object(std::uint32_t index) const {
  const Node& node = nodes_[index];
  api::Node object = workload_.groups[node.group].model;
  object.metadata.name = node.name;
  object.metadata.uid = fmt::format("node-{}", node.name);
  object.metadata.labels.Set("kubernetes.io/hostname", node.name);
  if (!zones_[index].empty()) object.metadata.labels.Set("topology.kubernetes.io/zone", zones_[index]);
  if (!node.ready) {
    object.taints.push_back({kUnreachable, "", "NoSchedule"});
    object.taints.push_back({kUnreachable, "", "NoExecute"});
  }
  return object;
}

}  // namespace berth::simulate
