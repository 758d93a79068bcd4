// Measures the use of nodes: utilisation, fragmentation, balance and spreading.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/simulate/result.hpp"
#include "tools/simulate/workload.hpp"

namespace berth::simulate {

// At most this many resources are measured: CPU, memory, the devices of slices by driver, and extended
// resources by name.
inline constexpr std::size_t kMostResources = 8;
// Milli-cores, bytes, thousandths of devices, or counts, by resource; further ones are 0.
using Amounts = std::array<std::int64_t, kMostResources>;

// The resources of nodes and pods of a workload as integers.
class ResourceTable {
 public:
  explicit ResourceTable(const Workload& workload);
  const std::vector<std::string>& names() const { return names_; }
  Amounts Of(const NodeGroup& group) const;
  // A request of devices counts for the first driver with a device that has the requested capacities, and
  // takes the largest of its shares of them; without capacities, the whole device. Requests of all devices of
  // a node do not count.
  Amounts Of(const PodKind& kind) const;

 private:
  Amounts Of(const api::ResourceList& list) const;
  void AddDevices(const api::ExactDeviceRequest& request, Amounts& amounts) const;

  std::vector<std::string> names_;
  std::vector<std::pair<std::size_t, api::Device>> devices_;  // with the index of the driver
};

// Keeps sums up to date with every change, so that reading them is cheap. Amounts of nodes that are not ready
// do not count. One thread.
class Meter {
 public:
  explicit Meter(const Workload& workload);

  // Returns the node's index; that of a removed node is used again.
  std::uint32_t AddNode(std::size_t group, const std::string& zone, Duration now);
  // The node must have no pods.
  void RemoveNode(std::uint32_t node, Duration now);
  void SetReady(std::uint32_t node, bool ready, Duration now);
  void CountCreated(std::uint32_t kind) { ++created_[kind]; }
  void Place(std::uint32_t kind, std::uint32_t node, Duration now);
  void Release(std::uint32_t kind, std::uint32_t node, Duration now);
  // Bound members of a group that has not started: more of them, or fewer (negative).
  void Hold(std::uint32_t kind, std::int64_t members, Duration now);
  // Groups that have not started.
  void SetWaitingGroups(std::uint64_t groups, Duration now);

  const ResourceTable& resources() const { return resources_; }
  const Amounts& allocatable(std::size_t group) const { return group_amounts_[group]; }
  const Amounts& requests(std::uint32_t kind) const { return kind_amounts_[kind]; }
  // Fills everything but the queue; adds the spreading of each kind to `kinds`. O(nodes x request shapes).
  void Measure(Sample& sample, std::vector<KindResult>& kinds);
  // Shares of the allocatable amount over the time until now, by resource: requested by bound pods; requested
  // by the members of Hold; free while a group waited.
  std::vector<double> MeanUsed(Duration now) { return MeanOf(used_time_, now); }
  std::vector<double> MeanHeld(Duration now) { return MeanOf(held_time_, now); }
  std::vector<double> MeanIdle(Duration now) { return MeanOf(idle_time_, now); }

 private:
  using Integrals = std::array<double, kMostResources>;  // over the time
  struct Node {
    std::uint32_t group = 0;
    std::uint32_t zone = 0;
    bool ready = true;
    Amounts used{};
    std::vector<std::pair<std::uint32_t, std::uint32_t>> kinds;  // with the number of pods; few
  };
  void Advance(Duration now);
  std::vector<double> MeanOf(const Integrals& integrals, Duration now);
  void AddTo(const Node& node, int sign);
  void MeasureFragmentation(Sample& sample) const;
  std::vector<std::pair<Amounts, double>> RequestShapes() const;
  void MeasureBalance(Sample& sample) const;
  void MeasureSpreading(std::vector<KindResult>& kinds) const;

  const ResourceTable resources_;
  std::vector<Amounts> group_amounts_, kind_amounts_;
  std::vector<std::uint64_t> created_;               // by kind
  std::vector<std::uint32_t> zone_nodes_;            // ready nodes by zone
  std::vector<std::string> zone_names_;              // "" is a zone, too
  std::vector<std::vector<std::uint32_t>> in_zone_;  // pods by kind and zone
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> unused_;  // indices of removed nodes
  std::uint64_t running_ = 0, waiting_groups_ = 0;
  Amounts allocatable_{}, used_{};  // of ready nodes
  Amounts held_{};
  Integrals allocatable_time_{}, used_time_{}, held_time_{}, idle_time_{};
  Duration last_{};
};

}  // namespace berth::simulate
